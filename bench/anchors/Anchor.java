import com.baidu.fsg.uid.impl.CachedUidGenerator;
import com.baidu.fsg.uid.impl.DefaultUidGenerator;
import com.sankuai.inf.leaf.segment.SegmentIDGenImpl;
import com.sankuai.inf.leaf.segment.dao.IDAllocDao;
import com.sankuai.inf.leaf.segment.model.LeafAlloc;
import com.sankuai.inf.leaf.snowflake.SnowflakeIDGenImpl;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.LocalDate;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import me.ahoo.cosid.segment.IdSegmentDistributor;
import me.ahoo.cosid.segment.SegmentChainId;
import me.ahoo.cosid.snowflake.MillisecondSnowflakeId;

/**
 * Runs one generator of another project for the bench. It reads lines "threads milliseconds" and
 * "layout timeBits workerBits seqBits", and answers each with "ids nanoseconds refused": how many
 * ids all threads made, in how much wall time, and how many calls were refused meanwhile.
 */
public final class Anchor {
    /** Makes n ids in a loop that calls its generator directly, and returns the refused calls. */
    interface Loop {
        long run(int n);
    }

    /** Keeps the compiler from removing a loop. */
    static volatile long sink;

    private static final int BATCH = 256;

    public static void main(String[] args) throws Exception {
        Loop loop = start(args[0], 29, 21, 13);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] f = line.split(" ");
            if (f[0].equals("layout")) {
                stop.run();
                loop = start(args[0], number(f[1]), number(f[2]), number(f[3]));
                System.out.println("0 0 0");
            } else {
                System.out.println(measure(loop, number(f[0]), number(f[1])));
            }
            System.out.flush();
        }
        System.exit(0);
    }

    private static int number(String s) {
        return Integer.parseInt(s);
    }

    /** Ends the threads of the generator that was started last. */
    private static Runnable stop = () -> { };

    private static Loop start(String name, int timeBits, int workerBits, int seqBits)
            throws Exception {
        stop = () -> { };
        switch (name) {
            case "Baidu CachedUidGenerator (Java)":
                CachedUidGenerator cached = new CachedUidGenerator();
                configure(cached, timeBits, workerBits, seqBits);
                stop = () -> {
                    try {
                        cached.destroy();
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                };
                return n -> baidu(cached, n);
            case "Baidu DefaultUidGenerator 29-4-30 (Java)":
                DefaultUidGenerator byClock = new DefaultUidGenerator();
                configure(byClock, timeBits, 4, 59 - timeBits);
                return n -> {
                    long x = 0;
                    for (int i = 0; i < n; i++) {
                        x ^= byClock.getUID();
                    }
                    sink = x;
                    return 0;
                };
            case "CosId SegmentChainId (Java)":
                SegmentChainId chain = new SegmentChainId(new IdSegmentDistributor.Atomic(1000));
                return n -> {
                    long x = 0;
                    for (int i = 0; i < n; i++) {
                        x ^= chain.generate();
                    }
                    sink = x;
                    return 0;
                };
            case "CosId MillisecondSnowflakeId (Java)":
                MillisecondSnowflakeId flake = new MillisecondSnowflakeId(1);
                return n -> {
                    long x = 0;
                    for (int i = 0; i < n; i++) {
                        x ^= flake.generate();
                    }
                    sink = x;
                    return 0;
                };
            case "Leaf SegmentIDGenImpl (Java)":
                SegmentIDGenImpl segment = new SegmentIDGenImpl();
                segment.setDao(new Memory());
                segment.init();
                return n -> {
                    long x = 0;
                    long refused = 0;
                    for (int i = 0; i < n; i++) {
                        long id = segment.get("order").getId();
                        while (id < 0) {
                            refused++;
                            Thread.yield();
                            id = segment.get("order").getId();
                        }
                        x ^= id;
                    }
                    sink = x;
                    return refused;
                };
            case "Leaf SnowflakeIDGenImpl (Java)":
                SnowflakeIDGenImpl leaf = new SnowflakeIDGenImpl("", 0);
                return n -> {
                    long x = 0;
                    for (int i = 0; i < n; i++) {
                        x ^= leaf.get("order").getId();
                    }
                    sink = x;
                    return 0;
                };
            default:
                throw new IllegalArgumentException(name);
        }
    }

    /** The epoch is today, as its users have to set one: the default's 28 bits ended in 2024. */
    private static void configure(DefaultUidGenerator g, int timeBits, int workerBits, int seqBits)
            throws Exception {
        g.setWorkerIdAssigner(() -> 1);
        g.setTimeBits(timeBits);
        g.setWorkerBits(workerBits);
        g.setSeqBits(seqBits);
        g.setEpochStr(LocalDate.now().toString());
        g.afterPropertiesSet();
    }

    /** An empty ring refuses, which its users have to answer by another call. */
    private static long baidu(CachedUidGenerator g, int n) {
        long x = 0;
        long refused = 0;
        for (int i = 0; i < n; ) {
            try {
                x ^= g.getUID();
                i++;
            } catch (RuntimeException e) {
                refused++;
                Thread.yield();
            }
        }
        sink = x;
        return refused;
    }

    private static String measure(Loop loop, int threads, int millis) throws Exception {
        CountDownLatch ready = new CountDownLatch(threads);
        CountDownLatch begin = new CountDownLatch(1);
        AtomicLong ids = new AtomicLong();
        AtomicLong refused = new AtomicLong();
        Thread[] list = new Thread[threads];
        for (int t = 0; t < threads; t++) {
            list[t] = new Thread(() -> {
                ready.countDown();
                try {
                    begin.await();
                } catch (InterruptedException e) {
                    return;
                }
                long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
                long made = 0;
                long lost = 0;
                while (System.nanoTime() < until) {
                    lost += loop.run(BATCH);
                    made += BATCH;
                }
                ids.addAndGet(made);
                refused.addAndGet(lost);
            });
            list[t].start();
        }
        ready.await();
        long start = System.nanoTime();
        begin.countDown();
        for (Thread t : list) {
            t.join();
        }
        return ids.get() + " " + (System.nanoTime() - start) + " " + refused.get();
    }

    /** A table in memory in place of Leaf's database, with the step of its own example. */
    private static final class Memory implements IDAllocDao {
        private long max = 1;

        @Override
        public List<LeafAlloc> getAllLeafAllocs() {
            return List.of();
        }

        @Override
        public LeafAlloc updateMaxIdAndGetLeafAlloc(String tag) {
            return add(2000);
        }

        @Override
        public LeafAlloc updateMaxIdByCustomStepAndGetLeafAlloc(LeafAlloc a) {
            return add(a.getStep());
        }

        private synchronized LeafAlloc add(int step) {
            max += step;
            LeafAlloc out = new LeafAlloc();
            out.setKey("order");
            out.setMaxId(max);
            out.setStep(2000);
            return out;
        }

        @Override
        public List<String> getAllTags() {
            return List.of("order");
        }
    }
}
