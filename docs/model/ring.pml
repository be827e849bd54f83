// The ring of package ringbuffer: one producer at a time, lock-free takers. ring.md has the
// properties in words.
//
// Each read and each write of a shared word is one step, because each is one atomic instruction of
// the program, and Go's atomics are sequentially consistent. Ghosts, which the program does not
// have, are written in the step that they belong to. The uid of position p is p+1, so an array of
// zeros holds none.
//
// expect: ok
// variants: -DSTALL=1 -DUIDS=4 expect: ok
// variants: -DSIZE=1 expect: ok
// variants: -DDROP=1 -DUIDS=4 expect: ok
// variants: -DBROKEN=1 expect: error
// variants: -DBROKEN=2 expect: error
// variants: -DBROKEN=3 expect: error
// variants: -DBROKEN=4 expect: error
// variants: -DBROKEN=5 expect: error
// variants: -DBROKEN=6 expect: error
// variants: -DBROKEN=7 expect: error

#ifndef SIZE
#define SIZE 2      // slots
#endif
#ifndef UIDS
#define UIDS 5      // positions 0..UIDS-1; with two slots two laps can pass while a taker stalls
#endif
#ifndef BROKEN
#define BROKEN 0
#endif
#define TAKERS 2    // one takes one uid at a time, the other up to two
#define LIMIT 4     // DropBelow: uids of 4 and more stay

short uids[SIZE];
short flags[SIZE];          // the position that the slot was last filled with
short cursor = -1;
short tail = -1;

// Ghosts.
short published = -1;       // every position up to it has its flag stored
short batchEnd[UIDS];       // the last position of the batch that a position was put in
byte  out[UIDS];            // how often the uid of a position was taken
byte  left = UIDS;          // uids not taken yet
byte  going = TAKERS;      // takers that have not stalled

#define SLOT(p) ((p) % SIZE)

// taken records that a taker owns uid, which it read for position p. It checks that this is the
// uid of that position, and that no taker had it before.
inline taken(p, uid) {
	assert(uid == (p) + 1);
	assert(out[p] == 0);
	out[p]++;
	left--;
}

// stall lets a taker stop for ever between two of its instructions, as long as another one goes on.
inline stall() {
#ifdef STALL
	if
	:: atomic { going > 1 -> going-- }; goto stopped
	:: true
	fi
#else
	skip
#endif
}

// The producer puts batches of one or two uids. One process models all producers, because they hold
// a mutex.
proctype producer() {
	short passed = -1, free, n, p, f;
	do
	:: tail == UIDS - 1 -> break
	:: else ->
		// An old copy of the cursor will do if it leaves room.
		free = passed + SIZE - tail;
#if BROKEN != 3
		if
		:: free < 1 ->
			atomic { passed = cursor; free = passed + SIZE - tail };
			if
			:: free < 1 -> (cursor != passed) // full: wait for a take
			:: else
			fi
		:: else
		fi;
#else
		free = 1;
#endif
		if
		:: free < 1 -> skip
		:: free >= 1 ->
			n = 1;
			if
			:: true
			:: free >= 2 && tail + 2 < UIDS -> n = 2
			fi;
#if BROKEN == 6
			atomic { f = tail + n; p = tail + 1; tail = f };
#else
			f = tail + n;
			p = tail + 1;
#endif
#if BROKEN == 2
			atomic { flags[SLOT(p)] = p; batchEnd[p] = p; published = p };
			n = 1; f = p;
#endif
			do
			:: p > f -> break
			:: else ->
				atomic {
					// The slot was handed back: what it held has an owner.
					assert(p < SIZE || out[p - SIZE] == 1);
					uids[SLOT(p)] = p + 1;
					batchEnd[p] = f;
					p++
				}
			od;
#if BROKEN == 4
			p = f - n + 1;
			do
			:: p > f -> break
			:: else -> atomic { flags[SLOT(p)] = p; published = p; p++ }
			od;
#elif BROKEN != 2
			p = f;
			do
			:: p == f - n + 1 ->
				atomic { flags[SLOT(p)] = p; published = f }; // the batch appears
				break
			:: else -> flags[SLOT(p)] = p; p--
			od;
#endif
			atomic { tail = f; free = 0; n = 0; p = 0; f = 0 }
		fi
	od
}

// A taker takes up to want uids at a time until none is left.
proctype taker(byte want) {
	short c, seen, n, k, uid[2];
	do
	:: left == 0 -> break
	:: left > 0 ->
#if BROKEN == 7
		// The original: load the cursor, advance it in a second step, judge by comparing the two.
		c = cursor;
		atomic {
			if
			:: cursor != tail -> cursor++
			:: else
			fi;
			seen = cursor
		};
		if
		:: seen == c -> (tail != cursor || left == 0)
		:: else -> atomic { uid[0] = uids[SLOT(seen)]; taken(seen, uid[0]) }
		fi;
#else
		c = cursor;
		stall();
		// The flag of the position after the cursor.
#if BROKEN == 5
		atomic { seen = tail; if :: seen > c -> seen = c + 1 :: else -> seen = c fi };
#else
		seen = -9;
		if
		:: c + 1 < UIDS -> atomic {
			seen = flags[SLOT(c + 1)];
			// "Empty" is said only when it is true, at this very step.
			assert(seen >= c + 1 || published == cursor)
		}
		:: else
		fi;
#endif
		stall();
		if
		:: seen < c + 1 ->
#if BROKEN == 5
			atomic { assert(published == cursor) };
#endif
			(published > cursor || left == 0) // empty: try again when something has happened
		:: seen > c + 1 -> skip           // overtaken: the cursor is out of date
		:: else ->
			n = 1;
			if
			:: want == 2 -> atomic { // the tail tells how many positions after the flag are full
				n = tail - c;
				if :: n < 1 -> n = 1 :: n > want -> n = want :: else fi;
				if :: n > SIZE -> n = SIZE :: else fi }
			:: else
			fi;
			k = 0;
			do
			:: k == n -> break
			:: else -> uid[k] = uids[SLOT(c + 1 + k)]; k++
			od;
			stall();
#if BROKEN == 1
			if
			:: cursor == c -> cursor = c + n // looks and moves in two steps
			:: else -> n = 0
			fi;
			atomic {
#else
			atomic { // the compare-and-swap
				if
				:: cursor != c -> n = 0
				:: else -> cursor = c + n
				fi;
#endif
				k = 0;
				do
				:: k >= n -> break
				:: else ->
					taken(c + 1 + k, uid[k]);
					k++
				od;
				// A batch appears at once: the rest of the batch of the uid just taken is in the ring.
				if
				:: n > 0 -> assert(published >= batchEnd[c + n])
				:: else
				fi
			}
		fi;
#endif
		// These values have no meaning any more. Zeros merge states that differ in nothing else.
		atomic { c = 0; seen = 0; n = 0; k = 0; uid[0] = 0; uid[1] = 0 }
	od;
stopped:
	skip
}

#ifdef DROP
// DropBelow(LIMIT), again and again.
proctype dropper() {
	short c, seen, uid;
	do
	:: left == 0 || cursor >= LIMIT - 2 -> break
	:: else ->
		c = cursor;
		if :: c + 1 >= UIDS -> break :: else fi;
		seen = flags[SLOT(c + 1)];
		if
		:: seen == c + 1 ->
			uid = uids[SLOT(c + 1)];
			if
			:: uid < LIMIT -> atomic {
				if
				:: cursor == c -> cursor = c + 1; assert(uid < LIMIT); taken(c + 1, uid)
				:: else
				fi }
			:: else ->
				atomic { if :: cursor == c -> assert(c + 2 >= LIMIT); goto done :: else fi }
			fi
		:: seen < c + 1 -> (published > cursor || left == 0)
		:: else
		fi;
		atomic { c = 0; seen = 0; uid = 0 }
	od;
done:
	skip
}
#endif

init {
	byte i;
	atomic {
		i = 0;
		do
		:: i == SIZE -> break
		:: else -> flags[i] = i - SIZE; i++
		od;
		run producer();
		run taker(1);
		run taker(2);
#ifdef DROP
		run dropper();
#endif
	}
	// All processes end: no uid is lost, and none waits for a taker that has stalled.
	_nr_pr == 1;
	i = 0;
	do
	:: i == UIDS -> break
	:: else -> assert(out[i] == 1); i++
	od;
	assert(cursor == UIDS - 1 && tail == UIDS - 1)
}
