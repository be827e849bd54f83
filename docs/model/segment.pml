// The ranges of a tag of package segment: callers that add, and callers that wait. segment.md has
// the properties in words.
//
// Each read and each write of a shared word is one step, because each is one atomic instruction of
// the program, and Go's atomics are sequentially consistent. What the program does under Tag.mu is
// one step as far as it touches no word that an add moves.
//
// expect: ok
// variants: -DEARLY=1 expect: ok
// variants: -DLEN=1 -DCALLS=1 expect: ok
// variants: -DBROKEN=1 expect: error
// variants: -DBROKEN=2 expect: error
// variants: -DBROKEN=3 expect: error
// variants: -DBROKEN=4 expect: error

#ifndef LEN
#define LEN 2       // ids of a range
#endif
#ifndef CALLS
#define CALLS 2     // calls of each caller, each for one id
#endif
#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef EARLY
#define EARLY 0     // 1: a round may end before all callers that it served have left
#endif
#define CALLERS 3
#define RANGES 4    // several can pass while a caller stalls; the last one is never used up
#define HELD 100    // far above LEN

short next[RANGES] = HELD;  // the word of each range
byte  cur;                  // Tag.cur: the range in use
bool  mu;                   // Tag.mu

// Guarded by mu.
byte  ready;                // ranges that have arrived and are not in use
byte  fetched = 1;          // ranges that were fetched, the first one in use from the start
byte  reserved;             // ids at the end of the range in use that are held back for the queue
byte  granted;              // callers that were served from the range in use and have not left yet
bool  ended;                // Close was called
bool  waiting[CALLERS];     // the callers in the queue
short got[CALLERS];         // what a caller was served: range and position, or -1

// Ghosts.
byte  out[RANGES * LEN];    // how often each id was handed out, or given back
byte  queued;               // callers in the queue

#define ID(b, p) ((b) * LEN + (p))

inline take(id) {
	assert(out[id] == 0);
	out[id]++
}

inline lock() { atomic { !mu -> mu = true } }

// round serves the queue, and opens the range when all callers that were served from it have left.
// The caller holds mu. The model leaves open which waiter is served first: the properties hold for
// any order.
inline round() {
	do
	:: atomic { queued > 0 && (reserved > 0 || ready > 0) && !ended ->
		if
		:: reserved == 0 -> ready--; cur++; reserved = LEN; granted = 0
		:: else
		fi;
		if
		:: waiting[0] -> w = 0
		:: waiting[1] -> w = 1
		:: waiting[2] -> w = 2
		fi;
		got[w] = ID(cur, LEN - reserved);
		waiting[w] = false;
		queued--;
		reserved--;
		granted++
	}
	:: atomic { !(queued > 0 && (reserved > 0 || ready > 0) && !ended) -> break }
	od;
	// The store of the word is a step of its own, so adds may happen before it.
	if
	:: reserved > 0 && (granted == 0 || EARLY) && !ended ->
		if
		:: BROKEN == 3 -> next[cur] = 0
		:: else -> next[cur] = LEN - reserved
		fi;
		reserved = 0
	:: else
	fi
}

proctype Caller(byte me) {
	byte calls, b, w;
	short p;
	do
	:: calls == CALLS -> break
	:: else ->
		calls++;
		b = cur;
		atomic {
			p = next[b];
			next[b] = p + 1;
			if
			:: p < LEN ->
				assert(queued == 0);
				take(ID(b, p))
			:: else
			fi
		}
		if
		:: p < LEN -> goto done
		:: else
		fi;
		lock();
		if
		:: ended -> mu = false; goto closed
		:: else
		fi;
		// Another caller may have put the next range in use since.
		b = cur;
		p = LEN;
		if
		:: BROKEN == 4 // without a second check the caller may wait while the range is open
		:: BROKEN != 4 && next[b] >= LEN
		:: BROKEN != 4 && next[b] < LEN ->
			atomic {
				p = next[b];
				next[b] = p + 1;
				if
				:: p < LEN -> take(ID(b, p))
				:: else
				fi
			}
		fi;
		if
		:: p < LEN -> mu = false; goto done
		:: else
		fi;
		atomic { waiting[me] = true; queued++; got[me] = -1 }
		round();
		if
		:: got[me] < 0 ->
			mu = false;
			(got[me] >= 0 || ended);
			lock()
		:: else
		fi;
		if
		:: got[me] < 0 -> // the tag has ended
			atomic { waiting[me] = false; queued-- }
			mu = false;
			goto closed
		:: else
		fi;
		take(got[me]);
		if
		:: got[me] / LEN == cur -> granted--
		:: else
		fi;
		got[me] = -1;
		round();
		mu = false;
done:		skip
	od;
closed:	skip
}

// The loader fetches ranges one by one while there is room: one is in use and one may be ready.
proctype Loader() {
	byte w;
	do
	:: lock();
		if
		:: ended || fetched == RANGES -> mu = false; break
		:: !ended && fetched < RANGES && ready == 0 ->
			fetched++;
			ready++;
			round();
			mu = false
		:: else -> mu = false; (ready == 0 || ended)
		fi
	od
}

// Close holds the range in use for good and gives the rest back.
proctype Close() {
	short p;
	lock();
	if
	:: BROKEN == 1 -> p = next[cur]; next[cur] = HELD // in two steps
	:: else -> atomic { p = next[cur]; next[cur] = HELD }
	fi;
	if
	:: p > LEN -> p = LEN
	:: else
	fi;
	if
	:: BROKEN == 2 // what is reserved for the queue is lost
	:: else -> p = p - reserved
	fi;
	atomic {
		reserved = 0;
		do
		:: p < LEN -> take(ID(cur, p)); p++
		:: else -> break
		od;
		do
		:: ready > 0 -> // the next range as well
			p = 0;
			do
			:: p < LEN -> take(ID(fetched - 1, p)); p++
			:: else -> break
			od;
			ready--
		:: else -> break
		od;
		ended = true
	}
	mu = false
}

init {
	byte i;
	atomic {
		next[0] = 0; // open
		do
		:: i < CALLERS -> got[i] = -1; run Caller(i); i++
		:: else -> break
		od;
		run Loader();
		run Close()
	}
	// When all have ended, every id of the ranges that were fetched is accounted for.
	_nr_pr == 1;
	i = 0;
	do
	:: i < fetched * LEN -> assert(out[i] == 1); i++
	:: else -> break
	od
}
