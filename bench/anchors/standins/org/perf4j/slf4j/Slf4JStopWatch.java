package org.perf4j.slf4j;

/** Stands in for perf4j, which only measures and logs. */
public class Slf4JStopWatch extends org.perf4j.StopWatch { }
