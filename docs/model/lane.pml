// Lanes and tenures of uid.Cached, with one lane. lane.md has the properties in words.
//
// Each read and each write of a shared word is one step, because each is one atomic instruction of the program, and Go's
// atomics are sequentially consistent. Ghosts, which the program does not have, are written in the step that they belong to.
// The ring is a channel: ring.pml is about its inside. A tick has one run, so that a run's number is its tick as well as its
// position, and the id of offset o in run r is r*RUN + o.
//
// expect: ok
// variants: -DFILL=1 -DNEXTERS=1 expect: ok
// variants: -DPAD=1 expect: ok
// variants: -DEXPIRE=1 expect: ok
// variants: -DREBASE=1 -DCALLS=3 expect: ok
// variants: -DREPLACE=1 expect: ok
// variants: -DCLOSE=1 -DPAD=1 expect: ok
// variants: -DNEXTERS=3 -DEMPTY=1 -DCALLS=3 expect: ok
// variants: -DBROKEN=1 expect: error
// variants: -DBROKEN=2 -DEMPTY=1 -DCALLS=4 expect: error
// variants: -DNEXTERS=4 -DEMPTY=1 -DCALLS=1 expect: error
// variants: -DBROKEN=3 -DFILL=1 -DNEXTERS=1 expect: error
// variants: -DBROKEN=4 -DREBASE=1 -DCALLS=3 expect: error
// variants: -DBROKEN=5 -DREBASE=1 -DCALLS=3 expect: error
// variants: -DBROKEN=6 -DREBASE=1 -DCALLS=3 expect: error
// variants: -DBROKEN=7 -DREPLACE=1 expect: error
// variants: -DBROKEN=8 -DEXPIRE=1 expect: error
// variants: -DBROKEN=9 -DCLOSE=1 -DCAP=2 expect: error
// variants: -DBROKEN=10 -DCLOSE=1 expect: error
// depth: 4000000

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef RUNS
#define RUNS 3        // run numbers 0..RUNS-1
#endif
#ifndef NEXTERS
#define NEXTERS 2     // callers of Next; with FILL one of Fill besides
#endif
#ifndef CALLS
#define CALLS 2       // of each caller of Next
#endif
#define RUN 2         // ids in a run
#define ROOM 3        // values of the headroom: enough for (ROOM-1)*RUN - 1 callers of Next
#ifndef CAP
#define CAP 1         // slots of the ring
#endif
#define TENURES 4
#ifdef REBASE
#define TICKS 2       // how many ticks a word can tell apart
#else
#define TICKS RUNS
#endif
#define WANT 3        // ids that Fill wants

// A word: tick - base tick, headroom, offset.
#define WORD(tick, off) ((tick) * (ROOM * RUN) + (off))
#define OFF(w)    ((w) % RUN)
#define HEAD(w)   (((w) / RUN) % ROOM)
#define TICK(w)   ((w) / (ROOM * RUN))
#define LEFT(w)   (HEAD(w) != 0 -> 0 : RUN - 1 - OFF(w))
#define USEDUP    RUN

// A tenure: its lane, its base tick, its worker id.
short word[TENURES] = USEDUP;
bool  mu[TENURES];          // lane.mu
bool  sealed[TENURES];
byte  pass[TENURES];        // lane.skip
byte  tick0[TENURES];
bool  worker[TENURES];
byte  tenure;               // Cached.tenure: an index

chan ring = [CAP] of { byte };
bool composing;             // Cached.mu
byte pos;                   // the run that is composed next
bool grant;                 // the claim's worker id
bool closed;

// Ghosts.
#define NONE 0
#define OUT 1
#define DROPPED 2
byte state[RUNS * RUN];     // of every id
bool owner[RUNS];           // the worker id that a run was composed under
short highest = -1;         // the highest id that a call has returned
bool released;              // Close has given the claim back ...
byte used;                  // ... from this tick on
byte begins[2];             // the first tick of each worker's window
bool padding = true;        // the padder runs

// handed notes that the id of word w of tenure t has an owner: nobody had it, it was composed under the tenure's worker id,
// and it lies below what the claim's release was told.
inline handed(ten, run_, offset) {
	assert((run_) >= 0 && (run_) < pos);
	assert(state[(run_) * RUN + (offset)] == NONE);
	assert(owner[run_] == worker[ten] && (run_) >= begins[worker[ten]]);
	assert(!released || (run_) < used);
	state[(run_) * RUN + (offset)] = OUT;
}

// dropped notes that the id is nobody's and will not be handed out.
inline dropped(run_, offset) {
	assert(state[(run_) * RUN + (offset)] == NONE);
	state[(run_) * RUN + (offset)] = DROPPED;
}

// dropRest notes that what word w of tenure t had left is dropped.
inline dropRest(dt, rest_) {
	do
	:: LEFT(rest_) > 0 -> rest_++; dropped(tick0[dt] + TICK(rest_), OFF(rest_))
	:: else -> break
	od
}

#define lock(mutex)   atomic { !mutex -> mutex = true }
#define unlock(mutex) mutex = false

// returned ends a call: the id is above all that were returned before the call began.
inline returned(newest) {
	atomic {
		assert((newest) > low);
		if :: (newest) > highest -> highest = newest :: else -> skip fi
	}
}

// seal takes the lane of tenure t its run for good; rest is the word that says what was left of it.
inline seal(st) {
	lock(mu[st]);
#if BROKEN == 4
	sealed[st] = true;
	rest = word[st];
	word[st] = USEDUP;
#elif BROKEN == 5
	atomic { rest = word[st]; word[st] = USEDUP };
#else
	sealed[st] = true;
	atomic { rest = word[st]; word[st] = USEDUP };
#endif
	unlock(mu[st])
}

// succeed publishes a tenure that goes on with rest.
inline succeed(rest_of) {
	atomic {
		assert(tenure + 1 < TENURES);
		tick0[tenure + 1] = (pos > len(ring) + 1 -> pos - len(ring) - 1 : 0);
		worker[tenure + 1] = grant;
		if
		:: LEFT(rest_of) > 0 ->
			// What the lane had left is not too old for the new base.
			assert(tick0[tenure] + TICK(rest_of) >= tick0[tenure + 1]);
			word[tenure + 1] = WORD(tick0[tenure] + TICK(rest_of) - tick0[tenure + 1], OFF(rest_of))
		:: else -> word[tenure + 1] = USEDUP
		fi;
		rest_of = 0
	};
	tenure = tenure + 1
}

// dropBelow empties the ring of the runs below limit.
inline dropBelow(below) {
	do
	:: atomic {
		len(ring) > 0 -> ring?<head>;
		if
		:: head < below -> ring?head; dropped(head, 0); dropped(head, 1)
		:: else -> head = 0; break
		fi }
	:: atomic { len(ring) == 0 -> head = 0; break }
	od
}

// compose puts a run into the ring if there is room and no bound. The caller holds Cached.mu.
inline compose() {
	if
	:: len(ring) == CAP || closed || pos == RUNS
	:: else ->
#ifdef REBASE
		if
		:: pos - tick0[tenure] >= TICKS -> seal(tenure); succeed(rest)
		:: else -> skip
		fi;
#endif
		atomic { owner[pos] = grant; pos++ }; // the position moves first
		ring!(pos - 1)
	fi
}

// refill gives the used-up lane of tenure t a run; got says whether it could, and then id is the run's first, the caller's.
inline refill(rt) {
	got = 0;
#if BROKEN != 1
	lock(mu[rt]);
#endif
	w = word[rt];
	if
	:: LEFT(w) > 0
	:: else ->
#if BROKEN != 2
		// Nothing but failed adds is overwritten.
		atomic { assert(BROKEN == 1 || LEFT(word[rt]) == 0); word[rt] = USEDUP };
#endif
		if
		:: sealed[rt]
		:: else ->
			if
			:: atomic { len(ring) > 0 -> ring?head; got = 1 }
			:: atomic { len(ring) == 0 }
			fi;
			if
			:: got ->
				w = WORD(head - tick0[tenure], pass[rt]); // the base of the tenure that is current
				atomic {
					assert(BROKEN == 1 || LEFT(word[rt]) == 0);
					assert(head >= tick0[tenure] && head - tick0[tenure] < TICKS);
					if :: pass[rt] > 0 -> dropped(head, 0) :: else -> skip fi;
					word[rt] = w;
					handed(tenure, head, pass[rt]);
					id = head * RUN + pass[rt];
					pass[rt] = 0
				}
			:: else -> skip
			fi
		fi
	fi;
#if BROKEN != 1
	unlock(mu[rt]);
#endif
	atomic { w = 0; head = 0 }
}

// takeN claims up to n consecutive ids of tenure t's lane; got is their number, id the last.
inline takeN(tt, most) {
	got = 0;
	do
	:: w = word[tt];
		got = (LEFT(w) < most -> LEFT(w) : most);
		if
		:: got == 0 -> break
		:: else -> skip
		fi;
#if BROKEN == 3
		atomic { word[tt] = w + got;
#else
		atomic { // the compare-and-swap
			if :: word[tt] != w -> goto again :: else -> skip fi;
			word[tt] = w + got;
#endif
			k = 0;
			do
			:: k < got -> w++; k++; handed(tt, tick0[tt] + TICK(w), OFF(w))
			:: else -> break
			od;
			id = (tick0[tt] + TICK(w)) * RUN + OFF(w); k = 0; w = 0
		};
		break;
again:	skip
	od
}

// starve: the ring is empty. A caller gives up, or composes; it tries again if there is a run.
inline starve() {
	if
	:: closed -> goto over
	:: else -> skip
	fi;
	if
	:: len(ring) > 0
	:: else ->
		if
		:: goto over
#ifdef PAD
		:: pos < RUNS -> lock(composing); compose(); unlock(composing)
#endif
		fi
	fi
}

proctype next(byte calls) {
	byte t, head, got, k;
	short w, id, low, rest;
	bool late;
	do
	:: calls == 0 -> break
	:: else ->
		atomic { calls--; low = highest; late = released; t = tenure };
		atomic {
			word[t]++; w = word[t];
#if BROKEN != 6
			if
			:: HEAD(w) == 0 -> handed(t, tick0[t] + TICK(w), OFF(w)); id = (tick0[t] + TICK(w)) * RUN + OFF(w); got = 1
			:: else -> got = 0
			fi
#else
			got = (HEAD(w) == 0)
#endif
		};
#if BROKEN == 6
		atomic {
			if
			:: got -> handed(tenure, tick0[tenure] + TICK(w), OFF(w)); id = (tick0[tenure] + TICK(w)) * RUN + OFF(w)
			:: else -> skip
			fi
		};
#endif
		w = 0;
		do
		:: got -> break
		:: else ->
			refill(t);
			if :: got -> break :: else -> skip fi;
			t = tenure;
			takeN(t, 1);
			if :: got -> break :: else -> skip fi;
			starve()
		od;
		assert(!late); // what begins after Close gets nothing
		returned(id);
over:		atomic { t = 0; id = 0; got = 0; low = 0; late = 0 }
	od
}

// fill takes WANT ids: from the lane, then whole runs from the ring, whose rest it leaves in the lane.
proctype fill(byte calls) {
	byte t, head, got, k, n, runs, over1;
	short w, id, low, rest;
	bool late;
	do
	:: calls == 0 -> break
	:: else ->
		atomic { calls--; low = highest; late = released; n = WANT; };
		do
		:: n == 0 -> break
		:: else ->
			t = tenure;
			takeN(t, n);
			if
			:: got -> atomic { n = n - got; low = id; assert(!late) }
			:: else ->
				// claimRuns
				lock(mu[t]);
				w = word[t];
				if
				:: LEFT(w) > 0
				:: else ->
#if BROKEN != 2
					word[t] = USEDUP;
#endif
					if
					:: sealed[t]
					:: else ->
						atomic { // TryTakeN; of no more than one run, as the ring has one slot
							if
							:: len(ring) > 0 ->
								ring?head;
								runs = 1;
								k = pass[t];
								if :: k > 0 -> dropped(head, 0) :: else -> skip fi;
								do
								:: k < RUN && n > 0 -> handed(tenure, head, k); id = head * RUN + k; k++; n--
								:: else -> break
								od
							:: else -> skip
							fi
						};
						if
						:: runs ->
							atomic { assert(id > low && !late); low = id };
							pass[t] = 0;
							if
							:: k < RUN -> atomic { assert(LEFT(word[t]) == 0); word[t] = WORD(head - tick0[tenure], k - 1) }
							:: else -> skip
							fi
						:: else -> skip
						fi
					fi
				fi;
				unlock(mu[t]);
				atomic { w = 0; head = 0; k = 0 };
				if
				:: runs -> runs = 0
				:: else -> starve()
				fi
			fi
		od;
		atomic { if :: id > highest -> highest = id :: else -> skip fi };
over:		atomic { t = 0; id = 0; got = 0; low = 0; n = 0; late = 0 }
	od
}

// The padder, and with EXPIRE, REPLACE what happens to a generator once.
proctype padder() {
	byte t, head, now;
	short w, rest;
	bool once;
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
			dropBelow(now);
			atomic { if :: pos < now -> pos = now :: else -> skip fi };
			t = tenure;
#if BROKEN != 8
			lock(mu[t]);
#endif
			w = word[t];
			if
			:: LEFT(w) > 0 && tick0[t] + TICK(w) < now ->
				atomic {
					w = word[t]; word[t] = USEDUP; // Swap
					assert(LEFT(w) == 0 || tick0[t] + TICK(w) < now); // nothing but the old is taken away
					dropRest(t, w)
				}
			:: else -> skip
			fi;
			if
			:: LEFT(word[t]) == 0 -> pass[t] = 1
			:: true
			fi;
#if BROKEN != 8
			unlock(mu[t]);
#endif
			atomic { w = 0; now = 0; t = 0 }
#endif
#ifdef REPLACE
		:: !once && pos > 0 ->
			// The claim was lost and another one made, with a window that may begin anywhere.
			atomic {
				once = true;
				grant = 1;
				if :: now = 0 :: now = pos :: pos < RUNS -> now = pos + 1 fi;
				begins[1] = now
			};
#if BROKEN == 7
			seal(tenure);
			succeed(rest)
#else
			seal(tenure);
			atomic { dropRest(tenure, rest); rest = USEDUP };
			dropBelow(RUNS);
			atomic { if :: pos < now -> pos = now :: else -> skip fi };
			succeed(rest)
#endif
			;
			now = 0
#endif
		:: compose()
		fi;
		unlock(composing)
	od;
	padding = false
}

#ifdef CLOSE
proctype close() {
	byte head;
	short rest;
	closed = true;
	!padding; // wg.Wait
	lock(composing);
#if BROKEN != 9 && BROKEN != 10
	seal(tenure);
#endif
	if
	:: atomic { len(ring) > 0 -> ring?head; dropped(head, 0); dropped(head, 1); used = head }
	:: atomic { len(ring) == 0 -> used = pos }
	fi;
	dropBelow(RUNS);
#if BROKEN == 9
	seal(tenure);
#endif
#if BROKEN != 10
	atomic { dropRest(tenure, rest); head = 0; rest = 0 };
#endif
	unlock(composing);
	atomic {
		released = true;
		// What was handed out lies below the end that is reported.
		do
		:: head < RUNS * RUN -> assert(state[head] != OUT || head / RUN < used); head++
		:: else -> break
		od
	}
}
#endif

init {
	byte i;
	short rest;
	atomic {
		do
		:: i < TENURES -> word[i] = USEDUP; i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < NEXTERS -> run next(CALLS); i++
		:: else -> break
		od;
#ifdef FILL
		run fill(1);
#endif
#ifndef EMPTY
		run padder();
#endif
#ifdef CLOSE
		run close();
#endif
	}
	atomic {
		_nr_pr == 1;
		// No id is lost: what is neither handed out nor dropped on purpose is in the lane or in the ring.
		rest = word[tenure];
		dropRest(tenure, rest);
		do
		:: len(ring) > 0 -> ring?i; dropped(i, 0); dropped(i, 1)
		:: else -> break
		od;
		i = 0;
#ifndef EXPIRE
#ifndef REPLACE
		do
		:: i < pos * RUN -> assert(state[i] != NONE); i++
		:: else -> break
		od
#endif
#endif
	}
}
