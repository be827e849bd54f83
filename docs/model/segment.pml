// How a range of package segment is handed out: segment/lane.go, segment/buffer.go, and what segment/tag.go does with them.
// segment.md has the properties in words.
//
// Each read and each write of a shared word is one step, because each is one atomic instruction of the program, and Go's
// atomics are sequentially consistent. What only the holder of Tag.mu touches is changed in one step. Ghosts, which the
// program does not have, are written in the step that they belong to. There are two ranges, whose positions are 0..LEN-1 each;
// the id of position p in range b is b*LEN + p + 1.
//
// expect: ok
// variants: -DLANES=1 -DRUN=1 -DLEN=2 expect: ok
// variants: -DLANES=1 -DRUN=3 expect: ok
// variants: -DLANES=1 -DCALLERS=3 -DCALLS=2 expect: ok
// variants: -DLANES=1 -DFILL=1 -DCALLS=1 expect: ok
// variants: -DLANES=1 -DSEAL=1 expect: ok
// variants: -DLANES=1 -DSEAL=1 -DFILL=1 -DCALLERS=1 -DCALLS=2 -DLEN=5 expect: ok
// variants: -DLEN=5 expect: ok
// variants: -DCALLERS=3 -DCALLS=1 -DLEN=2 -DMARK=1 expect: ok
// variants: -DRUN=3 -DMARK=4 -DLEN=4 expect: ok
// variants: -DFILL=1 -DRUN=3 -DMARK=1 -DLEN=4 -DCALLS=1 expect: ok
// variants: -DSEAL=1 -DMARK=1 -DLEN=4 -DCALLS=2 expect: ok
// variants: -DBROKEN=1 expect: error
// variants: -DBROKEN=2 expect: error
// variants: -DBROKEN=3 expect: error
// variants: -DBROKEN=4 expect: error
// variants: -DBROKEN=5 -DSEAL=1 expect: error
// variants: -DBROKEN=6 -DLANES=1 -DRUN=1 expect: error
// variants: -DCALLERS=3 -DROOM=2 -DCALLS=1 expect: error
// variants: -DSPARE=0 expect: error
// variants: -DBROKEN=7 expect: error
// variants: -DBROKEN=8 expect: error
// variants: -DBROKEN=9 -DSEAL=1 expect: error
// variants: -DBROKEN=10 -DSEAL=1 -DMARK=1 -DLEN=4 -DCALLS=2 expect: error
// variants: -DBROKEN=11 -DLANES=1 expect: error
// variants: -DBROKEN=12 -DFILL=1 -DCALLERS=1 -DRUN=3 -DMARK=1 -DLEN=4 expect: error
// depth: 4000000

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef LANES
#define LANES 2       // of each range
#endif
#ifndef RUN
#define RUN 2         // ids in a run
#endif
#ifndef LEN
#define LEN 3         // ids in a range
#endif
#ifndef MARK
#define MARK 2        // who takes this many-th id of a range, from 1, has the next one fetched
#endif
#ifndef CALLERS
#define CALLERS 2     // of Next; with FILL one of Fill besides
#endif
#ifndef CALLS
#define CALLS 3       // of each caller of Next
#endif
#ifndef ROOM          // how many failed adds a word has room for: one of each caller; and it counts to RUN-1 ids left
#define ROOM (CALLERS < RUN -> RUN : CALLERS)
#endif
#ifndef SPARE
#define SPARE 1       // a stride beyond the span in the lower half, for the add that fails
#endif
#define LOW (LEN + 1 + SPARE) // values of the lower half
#define WANT 3        // ids that Fill wants
#define RANGES 2

// A word: left and newest, as two's complement. Newest is the newest id's position + 1; a sum that is below -ROOM left has come
// around to where ids are left.
#define WRAP       (2 * ROOM * LOW)
#define ADD(w, n)  (((w) + (n) + (WRAP - (n) * LOW)) % WRAP)
#define VAIN(w)    ((w) / LOW >= ROOM)
#define LEFT(w)    (VAIN(w) -> 0 : (w) / LOW)
#define BEHIND(w)  ((w) % LOW)
#define WORD(p, n) ((n) * LOW + (p) + 1)
#define MIN(x, y)  ((x) < (y) -> (x) : (y))
#define MAX(x, y)  ((x) < (y) -> (y) : (x))

// Lane l of range b is at b*LANES + l.
byte word[RANGES * LANES];
bool mu[RANGES * LANES];  // lane.mu
byte taken[RANGES];
byte cur;                 // Tag.cur: an index
bool tagmu;               // Tag.mu
bool ready;               // Tag.ready: range 1 has arrived
bool loading, ended, failed;
byte changed;             // Tag.changed: how many times it was closed

// Ghosts.
bool out[RANGES * LEN];   // of every id: somebody has it
byte told[RANGES];        // how many callers were told to have the next range fetched
bool sealed;
bool fetched;             // range 1 was fetched
byte highest;             // the highest id that a call has returned
byte running;             // callers, and the sealer

#define lock(mutex)   atomic { !mutex -> mutex = true }
#define unlock(mutex) mutex = false

// handed notes that the caller has the n ids from position p of range b on: nobody had them, they are of a run that was
// claimed, and of one lane they are above all that were returned before the call began, and above the caller's others. Of the
// caller who gets the mark-th id, and of nobody else, it is known that he was told.
inline handed(b_, p_, n_) {
	k = 0;
	do
	:: k < n_ ->
		assert((p_) + k >= 0 && (p_) + k < taken[b_]);
		assert(!out[(b_) * LEN + (p_) + k]);
		assert(!sealed);
		out[(b_) * LEN + (p_) + k] = true;
#if LANES == 1
		assert((b_) * LEN + (p_) + k + 1 > low);
		low = (b_) * LEN + (p_) + k + 1;
#endif
		k++
	:: else -> break
	od;
	assert(told[b_] == out[(b_) * LEN + MARK - 1]);
	k = 0
}

// look loads the range in use, whatever the lane.
inline look() {
	atomic { x = cur * LANES; if :: LANES == 2 -> x++ :: true fi }
}

// take is lane.take: up to n ids of the lane, if any are left; got is their number.
inline take() {
	do
	:: atomic { w = word[x]; got = MIN(n, LEFT(w)) };
		if :: got == 0 -> break :: else -> skip fi;
		atomic { // the compare-and-swap
			if
			:: word[x] == w || BROKEN == 12 -> word[x] = ADD(w, got); handed(x / LANES, BEHIND(w), got); w = 0; break
			:: else -> got = 0
			fi
		}
	od;
	w = 0
}

// takeRun is buffer.takeRun: a run from p on, left ids long, of which the first got are the caller's.
inline takeRun() {
	do
	:: atomic {
			p = taken[x / LANES];
			got = MIN(n, LEN - p);
			left = MIN(MAX(got, RUN), LEN - p);
			left = (p + got < MARK && BROKEN != 7 -> MIN(left, MARK - 1 - p) : left)
		};
		if :: got == 0 -> left = 0; break :: else -> skip fi;
		atomic {
			if
			:: taken[x / LANES] == p || BROKEN == 4 -> // the compare-and-swap
				taken[x / LANES] = p + left;
				due = (p < MARK && MARK <= p + got);
				told[x / LANES] = told[x / LANES] + due;
				handed(x / LANES, p, got);
				break
			:: else -> p = 0; got = 0; left = 0
			fi
		}
	od
}

// takeRest is buffer.takeRest: what is left in a lane, of which the first got ids are the caller's.
inline takeRest() {
	do
	:: i == LANES -> break
	:: else ->
		w = word[x / LANES * LANES + i];
		if
		:: LEFT(w) > 0 ->
			atomic {
				w = (BROKEN == 1 -> w : word[x / LANES * LANES + i]); // Swap
				word[x / LANES * LANES + i] = 0;
				p = BEHIND(w); left = LEFT(w); got = MIN(n, left);
				handed(x / LANES, p, got);
				if :: left > 0 -> break :: else -> p = 0 fi
			}
		:: else -> skip
		fi;
		i++
	od;
	atomic { i = 0; w = 0 }
}

#define NOTHING_LEFT (LEFT(word[x]) == 0 || BROKEN == 3 || BROKEN == 11)

// refill is buffer.refill: the lane is given a run, or another lane's rest, without the caller's own ids.
inline refill() {
#if BROKEN != 11
	lock(mu[x]);
#endif
	w = word[x];
	if
	:: LEFT(w) > 0 && BROKEN != 3 -> atomic { again = true; w = 0 } // another caller was faster
	:: else ->
		w = 0;
#if BROKEN != 6
		atomic { assert(NOTHING_LEFT); word[x] = 0 }; // nothing but failed adds is overwritten
#endif
		takeRun();
		if :: left == 0 -> takeRest() :: else -> skip fi;
		if
		:: left > got -> atomic { assert(NOTHING_LEFT); word[x] = WORD(p + got - 1, left - got) }
		:: else -> skip
		fi;
		atomic { p = 0; left = 0 }
	fi;
#if BROKEN == 8
	prefetch();
#endif
#if BROKEN != 11
	unlock(mu[x])
#endif
}

// startLoad asks for the next range. The caller holds Tag.mu.
inline startLoad() {
	loading = loading || !(ready || ended || failed)
}

inline prefetch() {
	if
	:: due -> atomic { !tagmu -> if :: cur == x / LANES -> startLoad() :: else -> skip fi; due = false }
	:: else -> skip
	fi
}

// lockAll takes mu of all lanes of range b.
inline lockAll(b_) {
	do :: i < LANES -> lock(mu[(b_) * LANES + i]); i++ :: else -> i = 0; break od
}

inline unlockAll(b_) {
	do :: i < LANES -> unlock(mu[(b_) * LANES + i]); i++ :: else -> i = 0; break od
}

// used is buffer.used, in p.
inline used() {
#if BROKEN != 2
	lockAll(x / LANES);
#endif
	p = taken[x / LANES];
	do :: i < LANES -> p = p - LEFT(word[x / LANES * LANES + i]); i++ :: else -> i = 0; break od;
#if BROKEN != 2
	unlockAll(x / LANES)
#endif
}

// await is Tag.await: it makes the next range the one in use when all ids of this one are handed out. A caller whom it tells
// that there will be none gives up.
inline await() {
	lock(tagmu);
	if :: cur == x / LANES -> used() :: else -> p = 0 fi;
	do
	:: cur != x / LANES || p < LEN -> break
	:: else ->
		atomic {
			if :: ended -> tagmu = false; goto over :: else -> skip fi;
			if
			:: ready ->
				// Nothing is lost.
				do :: i < LEN -> assert(out[cur * LEN + i]); i++ :: else -> i = 0; break od;
				assert(told[cur] == 1);
				cur++; ready = false;
				break
			:: !ready && failed -> tagmu = false; goto over
			:: else -> startLoad(); news = changed; tagmu = false // wait
			fi
		};
		atomic { changed != news && !tagmu -> tagmu = true; news = 0 }
	od;
	p = 0;
	unlock(tagmu)
}

// caller calls Next; or Fill, which wants several ids and does not add.
proctype caller(byte calls, want) {
	byte x, w, p, left, n, got, news, i, k, low;
	bool due, again;
	do
	:: calls == 0 -> break
	:: else ->
		atomic { calls--; low = highest; n = want; look() };
		if
		:: atomic {
				want == 1 -> word[x] = ADD(word[x], 1);
				if :: !VAIN(word[x]) -> handed(x / LANES, BEHIND(word[x]) - 1, 1); n = 0 :: else -> skip fi
			}
		:: want > 1
		fi;
		do
		:: n == 0 -> break
		:: else ->
			take();
			if :: got == 0 -> refill() :: else -> skip fi;
			prefetch();
			if
			:: got > 0 -> atomic { n = n - got; got = 0 }
			:: got == 0 && again -> again = false
			:: else -> await(); look()
			fi
		od;
over:		atomic {
			if :: low > highest -> highest = low :: else -> skip fi;
			x = 0; p = 0; n = 0; low = 0
		}
	od;
	running--
}

// The source, which has one more range.
proctype load() {
	do
	:: atomic {
		loading && !tagmu -> loading = false;
		if
		:: ended // it is given back whole
		:: !ended && fetched -> failed = true; changed++
		:: !ended && !fetched -> fetched = true; ready = true; changed++
		fi }
	:: atomic { !loading && running == 0 -> break }
	od
}

#ifdef SEAL
// Tag.endLocked.
proctype seal() {
	byte i, from, end, w;
	lock(tagmu);
	atomic {
		ended = true;
		if :: ready -> assert(taken[cur + 1] == 0); ready = false :: else -> skip fi // it is given back whole
	};
#if BROKEN != 5
	lockAll(cur);
#endif
	atomic { end = taken[cur]; from = end; taken[cur] = (BROKEN == 9 -> end : LEN) }; // Swap
	do
	:: i < LANES ->
		atomic {
			w = word[cur * LANES + i]; word[cur * LANES + i] = 0; // Swap
			from = (LEFT(w) > 0 && (BEHIND(w) + LEFT(w) == end || BROKEN == 10) -> BEHIND(w) : from);
			w = 0
		};
		i++
	:: else -> i = 0; break
	od;
	atomic {
		sealed = true; // from..LEN-1 is given back
		do
		:: i < LEN ->
			assert(i < from || !out[cur * LEN + i]);
			assert(i >= from || out[cur * LEN + i] || LANES > 1);
			i++
		:: else -> i = 0; break
		od
	};
#if BROKEN != 5
	unlockAll(cur);
#endif
	atomic { changed++; tagmu = false; running-- }
}
#endif

init {
	byte i, w;
	atomic {
		running = CALLERS;
		do :: i < CALLERS -> run caller(CALLS, 1); i++ :: else -> break od;
#ifdef FILL
		running++;
		run caller(1, WANT);
#endif
		run load();
#ifdef SEAL
		running++;
		run seal();
#endif
	}
	atomic {
		_nr_pr == 1;
		// No id is lost: what nobody has and was claimed is in a lane. What a seal throws away is lost on purpose.
		i = 0;
		do
		:: i < LANES && !sealed ->
			w = word[cur * LANES + i];
			do
			:: LEFT(w) > 0 ->
				assert(!out[cur * LEN + BEHIND(w)]);
				out[cur * LEN + BEHIND(w)] = true;
				w = ADD(w, 1)
			:: else -> break
			od;
			i++
		:: else -> break
		od;
		i = 0;
		do :: i < taken[cur] && !sealed -> assert(out[cur * LEN + i]); i++ :: else -> break od
	}
}
