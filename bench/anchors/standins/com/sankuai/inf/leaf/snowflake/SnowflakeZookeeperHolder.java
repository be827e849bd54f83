package com.sankuai.inf.leaf.snowflake;

/** Stands in for the worker id of a ZooKeeper. It plays no part once a generator has started. */
public class SnowflakeZookeeperHolder {
    public SnowflakeZookeeperHolder(String ip, String port, String connection) { }

    public boolean init() {
        return true;
    }

    public int getWorkerID() {
        return 1;
    }
}
