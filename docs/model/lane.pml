// Lanes and composer of uid.Cached. lane.md has the properties in words.
//
// Each read and each write of a shared word is one step, because each is one atomic instruction of
// the program, and Go's atomics are sequentially consistent. Ghosts, which the program does not
// have, are written in the step that they belong to. The ring is a channel: ring.pml models its
// inside. A tick has one run, so a run's number is its tick, and number o of run r is r*RUN + o.
//
// expect: ok
// variants: -DNEXTERS=1 -DCALLS=5 expect: ok
// variants: -DNEXTERS=3 -DCALLS=1 expect: ok
// variants: -DFILL=1 -DNEXTERS=1 expect: ok
// variants: -DFILL=1 -DNEXTERS=1 -DCAP=2 expect: ok
// variants: -DPAD=1 expect: ok
// variants: -DPAD=1 -DLANES=2 expect: ok
// variants: -DEXPIRE=1 expect: ok
// variants: -DREPLACE=1 expect: ok
// variants: -DREPLACE=1 -DLANES=2 -DCALLS=1 -DNEXTERS=3 expect: ok
// variants: -DREPLACE=1 -DRINGFIRST=1 -DFILL=1 -DNEXTERS=1 expect: ok
// variants: -DCLOSE=1 -DPAD=1 expect: ok
// variants: -DCLOSE=1 -DLANES=2 expect: ok
// variants: -DSINGLE=1 -DPAD=1 -DFILL=1 -DNEXTERS=1 expect: ok
// variants: -DBROKEN=1 expect: error
// variants: -DBROKEN=2 expect: error
// variants: -DBROKEN=3 -DFILL=1 -DNEXTERS=1 expect: error
// variants: -DBROKEN=4 expect: error
// variants: -DBROKEN=5 -DEXPIRE=1 expect: error
// variants: -DBROKEN=6 -DREPLACE=1 expect: error
// variants: -DBROKEN=7 -DREPLACE=1 expect: error
// variants: -DBROKEN=8 -DCLOSE=1 -DCAP=2 expect: error
// variants: -DBROKEN=9 -DCLOSE=1 expect: error
// variants: -DBROKEN=10 expect: error
// variants: -DBROKEN=11 -DPAD=1 expect: error
// variants: -DBROKEN=12 -DEXPIRE=1 expect: error

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef RUNS
#define RUNS 3        // run numbers 0..RUNS-1
#endif
#ifndef NEXTERS
#define NEXTERS 2     // callers of Next; FILL adds one of Fill
#endif
#ifndef CALLS
#define CALLS 2       // calls of each caller of Next
#endif
#ifndef LANES
#define LANES 1
#endif
#ifdef SINGLE
#define RUN 1         // numbers in a run
#else
#define RUN 2
#endif
#ifndef CAP
#define CAP 1         // slots of the ring
#endif
#define WANT 3        // numbers that Fill wants
#define USEDUP 100    // above every number

// A lane.
short next[LANES] = USEDUP;
short end[LANES];
bool  mu[LANES];
byte  pass[LANES];          // lane.skip

// The composer.
chan ring = [CAP] of { byte };
bool composing;             // composer.mu
byte pos;                   // the run that is composed next
bool worker;                // the worker id of the keeper's window
bool closed;

// Ghosts.
#define NONE 0
#define OUT 1
#define DROPPED 2           // on purpose
#define SKIPPED 3           // by a caller that loaded an older end
byte state[RUNS * RUN];     // of every number
bool owner[RUNS];           // the worker id that a run was composed under
short highest = -1;         // the highest number that a call has returned
bool released;              // Close has given the claim back ...
byte used;                  // ... from this tick on
byte begins[2];             // the first tick of each worker's window
bool replaced;              // the claim was replaced, and what was left of the old one was dropped
bool padding = true;        // the padder runs

// handed records that a number has an owner. It checks that no caller had the number before, that
// it was composed in its worker's window, that it lies below the end that the claim's release got,
// and that its claim was not replaced.
inline handed(number) {
	assert((number) >= 0 && (number) < pos * RUN);
	assert(state[number] == NONE);
	assert((number) / RUN >= begins[owner[(number) / RUN]]);
	assert(!replaced || owner[(number) / RUN] == 1);
	assert(!released || (number) / RUN < used);
	state[number] = OUT;
}

// gone records that a number will not be handed out.
inline gone(number, how) {
	assert(state[number] == NONE);
	state[number] = how;
}

// goneRest records that what a lane has left is dropped, in the step that drops it.
inline goneRest(gl) {
	k = 0;
	do
	:: next[gl] + k < end[gl] -> gone(next[gl] + k, DROPPED); k++
	:: else -> break
	od;
	k = 0
}

#define lock(mutex)   atomic { !mutex -> mutex = true }
#define unlock(mutex) mutex = false

// returned ends a call. With one lane the number is above all that were returned before it began.
inline returned(newest) {
	atomic {
		assert(LANES > 1 || (newest) > low);
		if :: (newest) > highest -> highest = newest :: else -> skip fi
	}
}

// take is lane.take, after a load of the lane's end e. got says whether the caller owns number.
inline take(tl) {
#if BROKEN != 4
	e = end[tl];
#endif
	atomic {
		number = next[tl];
		next[tl]++;
#if BROKEN == 4
	};
	e = end[tl];
	atomic {
#endif
		got = (number < e);
		if
		:: got -> handed(number)
		:: !got && number < end[tl] -> // only a caller that loaded an older end skips a number
			assert(e != end[tl]); gone(number, SKIPPED)
		:: else
		fi
	}
}

// takeN takes up to most consecutive numbers of a lane: got of them, and number is the last one.
inline takeN(cl, most) {
	do
	:: e = end[cl];
		w = next[cl];
		if
		:: w >= e -> got = 0; break
		:: else -> got = (e - w < most -> e - w : most)
		fi;
		atomic {
#if BROKEN != 3
			if :: next[cl] != w -> goto again :: else -> skip fi; // the compare-and-swap
#endif
			next[cl] = w + got;
			k = 0;
			do
			:: k < got -> handed(w + k); k++
			:: else -> break
			od;
			number = w + got - 1;
			k = 0
		};
		break;
again:	skip
	od;
	w = 0
}

// begin gives a used-up lane the numbers from first to last. The caller holds its mu.
inline begin(bl, first, last) {
#if BROKEN == 2
	end[bl] = last;
	next[bl] = first
#elif BROKEN == 10
	next[bl] = USEDUP;
	next[bl] = first;
	end[bl] = last
#else
	next[bl] = USEDUP;
	end[bl] = last;
	atomic {
		// Nothing but failed adds is overwritten.
		assert(BROKEN == 1 || BROKEN == 5 || next[bl] >= USEDUP);
		next[bl] = first
	}
#endif
}

// drop drops what a lane has left. It checks that all of it is older than limit. The caller holds
// the lane's mu.
inline drop(dl, limit) {
	left = (next[dl] < end[dl]); // a step of its own
	if
	:: left ->
		atomic {
			assert(next[dl] >= end[dl] || (end[dl] - 1) / RUN < limit); // nothing but the old is dropped
			goneRest(dl);
			next[dl] = USEDUP
		}
	:: else
	fi
}

// refill gives a used-up lane the ring's next runs. The caller owns up to most of their first
// numbers: got of them, and number is the last one. none says that lane and ring were empty at one
// instant.
inline refill(rl, most) {
	got = 0;
	none = false;
#if BROKEN != 1
	lock(mu[rl]);
#endif
	if
	:: next[rl] < end[rl] // another caller refilled it
	:: else ->
		atomic { // TryTakeN: as many runs as most numbers need
			runs = 0;
			do
			:: runs * RUN < most && len(ring) > 0 ->
				ring?head;
				assert(runs == 0 || head == last);
				if :: runs == 0 -> w = head * RUN + pass[rl] :: else -> skip fi;
				runs++;
				last = head + 1
			:: else -> break
			od;
			none = (runs == 0);
			if :: runs > 0 && pass[rl] > 0 -> gone(w - 1, DROPPED) :: else -> skip fi;
			do
			:: runs > 0 && got < most && w + got < last * RUN ->
				handed(w + got); number = w + got; got++
			:: else -> break
			od
		};
		if
		:: runs > 0 ->
			pass[rl] = 0;
			if
			:: number + 1 < last * RUN -> begin(rl, number + 1, last * RUN)
			:: else
			fi
		:: else
		fi
	fi;
#if BROKEN != 1
	unlock(mu[rl]);
#endif
	atomic { w = 0; head = 0; runs = 0; last = 0 }
}

// dropRing empties the ring of the runs below limit.
inline dropRing(below) {
	do
	:: atomic {
		len(ring) > 0 -> ring?<head>;
		if
		:: head < below ->
			ring?head;
			k = 0;
			do :: k < RUN -> gone(head * RUN + k, DROPPED); k++ :: else -> break od;
			k = 0
		:: else -> head = 0; break
		fi }
	:: atomic { len(ring) == 0 -> head = 0; break }
	od
}

// compose puts a run into the ring if there is room and no bound. The caller holds composer.mu.
inline compose() {
	if
	:: len(ring) == CAP || closed || pos == RUNS
	:: else ->
#if BROKEN == 11
		atomic { owner[pos] = worker };
		ring!pos;
		pos++ // after the put
#else
		atomic { owner[pos] = worker; pos++ }; // the position moves first
		ring!(pos - 1)
#endif
	fi
}

// waitForRun: a caller that found nothing gives up, composes, or goes on when the ring has a run.
inline waitForRun() {
	if
	:: closed -> goto over
	:: else ->
		if
		:: goto over
#ifdef PAD
		:: pos < RUNS && len(ring) < CAP -> lock(composing); compose(); unlock(composing)
#endif
		:: len(ring) > 0
		fi
	fi
}

proctype nexter(byte calls; byte l) {
	byte head, got, k, runs, last;
	short number, e, w, low;
	bool late, none;
	do
	:: calls == 0 -> break
	:: else ->
		atomic { calls--; low = highest; late = released };
		take(l);
		do
		:: got -> break
		:: else ->
			refill(l, 1);
			if
			:: got -> break
			:: !got && !none -> takeN(l, 1)
			:: else -> waitForRun()
			fi
		od;
		assert(!late); // a call that begins after Close gets nothing
		returned(number);
#ifdef PAD
		// The caller left the ring low: it composes unless another goroutine does.
		if
		:: atomic { !composing -> composing = true }; compose(); unlock(composing)
		:: true
		fi;
#endif
over:		atomic { number = 0; got = 0; low = 0; late = 0; e = 0; none = 0 }
	od
}

// filler takes WANT numbers in increasing order.
proctype filler(byte l) {
	byte head, got, k, n, runs, last;
	short number, e, w, low;
	bool late, none;
	atomic { low = highest; late = released; n = WANT };
	do
	:: n == 0 -> break
	:: else ->
		takeN(l, n);
		if
		:: got == 0 -> refill(l, n)
		:: else
		fi;
		if
		:: got > 0 -> atomic {
			assert(number - got + 1 > low && !late);
			low = number; n = n - got; got = 0 }
		:: got == 0 && none -> waitForRun()
		:: else
		fi
	od;
	atomic { if :: low > highest -> highest = low :: else -> skip fi };
over:	atomic { number = 0; got = 0; low = 0; n = 0; late = 0; e = 0; none = 0 }
}

// The padder. What EXPIRE and REPLACE add happens once, in a step of the padder.
proctype padder() {
	byte l, head, now, k;
	bool once, left;
	do
	:: closed || (pos == RUNS && (once || len(ring) == 0)) -> break
	:: else ->
		lock(composing);
		if
#ifdef EXPIRE
		:: !once && pos > 0 ->
			// refresh: runs below now are too old, and the position jumps there.
			once = true;
			atomic { if :: now = pos - 1 :: now = pos :: pos < RUNS -> now = pos + 1 fi };
#if BROKEN != 12
			dropRing(now);
			atomic { if :: pos < now -> pos = now :: else -> skip fi };
#endif
			lock(mu[0]);
			if :: pass[0] = RUN - 1 :: true fi; // setSkip
			unlock(mu[0]);
#if BROKEN != 5
			lock(mu[0]);
#endif
			if
			:: end[0] > 0 && (end[0] - 1) / RUN < now ->
				drop(0, now)
			:: else
			fi;
#if BROKEN != 5
			unlock(mu[0]);
#endif
#if BROKEN == 12
			dropRing(now);
			atomic { if :: pos < now -> pos = now :: else -> skip fi };
#endif
			atomic {
				// Nothing old stays: not in the lane, and not in the ring.
				assert(next[0] >= end[0] || (end[0] - 1) / RUN >= now || BROKEN == 5);
				if :: len(ring) > 0 -> ring?<head>; assert(head >= now); head = 0 :: else -> skip fi;
				now = 0
			}
#endif
#ifdef REPLACE
		:: !once && pos > 0 ->
			// The claim was lost, and another one was made, whose window may begin anywhere.
			atomic {
				once = true;
				worker = 1;
				if :: now = 0 :: now = pos :: pos < RUNS -> now = pos + 1 fi;
				begins[1] = now
			};
#ifdef RINGFIRST
			dropRing(RUNS); // nothing is put meanwhile
#endif
			l = 0;
			do
			:: l < LANES ->
				lock(mu[l]);
				drop(l, RUNS);
#if BROKEN == 6
				unlock(mu[l]); // one lane after the other
#endif
				l++
			:: else -> break
			od;
#if BROKEN != 7 && !defined(RINGFIRST)
			dropRing(RUNS);
#endif
			atomic {
				if :: pos < now -> pos = now :: else -> skip fi;
				replaced = true
			};
			l = 0;
			do :: l < LANES -> unlock(mu[l]); l++ :: else -> break od;
			atomic { l = 0; now = 0 }
#endif
		:: true -> compose() // not else: in an inline it would belong to this selection
		fi;
		unlock(composing)
	od;
	padding = false
}

#ifdef CLOSE
// closer is Close.
proctype closer() {
	byte l, head, k;
	bool left;
	closed = true;
	!padding; // wg.Wait
	lock(composing);
#if BROKEN == 8
	used = pos - len(ring);
#endif
	do :: l < LANES -> lock(mu[l]);
#if BROKEN != 9
		drop(l, RUNS);
#endif
		l++
	:: else -> break od;
#if BROKEN != 8
	used = pos - len(ring);
#endif
	dropRing(RUNS);
	l = 0;
	do :: l < LANES -> unlock(mu[l]); l++ :: else -> break od;
	unlock(composing);
	atomic {
		released = true;
		// What was handed out lies below the end that the claim's release gets.
		do
		:: head < RUNS * RUN -> assert(state[head] != OUT || head / RUN < used); head++
		:: else -> break
		od
	}
}
#endif

init {
	byte i, k;
	atomic {
		do
		:: i < NEXTERS -> run nexter(CALLS, i % LANES); i++
		:: else -> break
		od;
#ifdef FILL
		run filler(0);
#endif
		run padder();
#ifdef CLOSE
		run closer();
#endif
	}
	atomic {
		_nr_pr == 1;
		// No number is lost: each that was not handed out, dropped or skipped is in a lane or the ring.
		i = 0;
		do :: i < LANES -> goneRest(i); i++ :: else -> break od;
		do
		:: len(ring) > 0 ->
			ring?i;
			k = 0;
			do :: k < RUN -> gone(i * RUN + k, DROPPED); k++ :: else -> break od
		:: else -> break
		od;
		i = 0;
#ifndef EXPIRE
#ifndef REPLACE
		do
		:: i < pos * RUN ->
			assert(state[i] != NONE);
#ifndef FILL
			assert(NEXTERS > 1 || state[i] != SKIPPED); // one goroutine skips nothing
#endif
			i++
		:: else -> break
		od
#endif
#endif
	}
}
