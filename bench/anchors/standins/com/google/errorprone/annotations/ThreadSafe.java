package com.google.errorprone.annotations;

/** Stands in for an annotation that Debian's jar lacks and that means nothing at run time. */
public @interface ThreadSafe { }
