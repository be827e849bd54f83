// The low signal of package ringbuffer: a producer that sleeps until OnLow wakes it, and takers. ring.md has the properties in
// words. A put's flags and a take's swap are one step each here; ring.pml is the model that looks into them.
//
// expect: ok
// variants: -DBATCH=1 expect: ok
// variants: -DTHRESHOLD=1 expect: ok
// variants: -DTHRESHOLD=1 -DSIZE=1 expect: ok
// variants: -DBROKEN=1 expect: error
// variants: -DSLEEPY=1 expect: ok
// variants: -DBROKEN=2 -DSLEEPY=1 expect: error
// variants: -DBROKEN=3 expect: error
// variants: -DBROKEN=4 -DTHRESHOLD=1 expect: error

#ifndef SIZE
#define SIZE 2
#endif
#ifndef THRESHOLD
#define THRESHOLD SIZE // fewer uids than this is low
#endif
#ifndef UIDS
#define UIDS 6
#endif
#ifndef BROKEN
#define BROKEN 0
#endif
#define AWAY 100

short cursor = -1, published = -1, tail = -1;
short lowAt = -1 - AWAY;
bool  armed;                  // BROKEN == 1: a bit in place of the position
chan  low = [1] of { bit };   // what OnLow wakes the producer with

// Ghosts.
byte  called[UIDS];           // calls of OnLow for each lowAt
byte  left = UIDS;

// onLow wakes the producer, unless it has been already, for the fall at position at.
inline onLow(at) {
	atomic {
		called[at]++;
		assert(called[at] == 1);
		if
		:: nfull(low) -> low!1
		:: full(low)
		fi
	}
}

proctype producer() {
	short c, t, at;
	bool fell, set;
	do
	:: tail == UIDS - 1 -> break
	:: else ->
		// A put, if there is room.
		c = cursor;
		if
		:: tail - c == SIZE -> atomic { c = 0; (len(low) > 0 || left == 0) }; // full: sleep
			if
			:: low?_
			:: left == 0
			fi
		:: else ->
			t = tail + 1;
#ifdef BATCH
			if
			:: c + SIZE < UIDS - 1 -> t = c + SIZE
			:: else -> t = UIDS - 1
			fi;
#endif
			published = t;
			tail = t;
			// arm
			c = cursor;
			fell = false;
#if BROKEN == 1
			if
			:: armed || t - c < THRESHOLD
			:: else ->
				armed = true;
				c = cursor;
				if
				:: t - c < THRESHOLD -> atomic { fell = armed; armed = false }
				:: else
				fi
			fi;
			if
			:: fell -> atomic { if :: nfull(low) -> low!1 :: full(low) fi }
			:: else
			fi;
#else
			if
			:: t - c < THRESHOLD
			:: else ->
				at = t - THRESHOLD + 1;
				lowAt = at;
				set = true;
#if BROKEN != 2
				c = cursor;
				if
				:: c >= at -> atomic {
					if
					:: lowAt == at -> lowAt = at + AWAY; fell = true
					:: else
					fi }
				:: else
				fi
#endif
			fi;
			if
			:: fell -> onLow(at)
			:: else
			fi;
#endif
#if BROKEN == 4
			// Sleeps after each put, without a look at Low.
			(len(low) > 0 || left == 0);
			if
			:: low?_
			:: left == 0
			fi;
#elif defined(SLEEPY)
			// Sleeps after each put that found the ring at the threshold, and relies on that put alone.
			if
			:: set ->
				(len(low) > 0 || left == 0);
				if
				:: low?_
				:: left == 0
				fi
			:: else
			fi;
#elif defined(BATCH)
			// Sleeps as soon as the ring is not low: it need not be full.
			c = cursor;
			if
			:: tail - c >= THRESHOLD ->
				(len(low) > 0 || left == 0);
				if
				:: low?_
				:: left == 0
				fi
			:: else
			fi;
#endif
			atomic { c = 0; t = 0; at = 0; fell = false; set = false }
		fi
	od
}

proctype taker() {
	short c, t, at;
	do
	:: left == 0 -> break
	:: atomic { cursor < published -> c = cursor; cursor++; left-- };
#if BROKEN == 1
		if
		:: armed ->
			at = cursor;
			t = tail;
			if
			:: t - at < THRESHOLD ->
				atomic { at = armed; armed = false };
				if
				:: at -> atomic { if :: nfull(low) -> low!1 :: full(low) fi }
				:: else
				fi
			:: else
			fi
		:: else
		fi;
#else
		at = lowAt;
		if
		:: at == c + 1 ->
			atomic {
				if
				:: lowAt == at ->
#if BROKEN == 3
					lowAt = at - 1
#else
					lowAt = at + AWAY
#endif
				:: else -> at = -1
				fi
			};
			if
			:: at >= 0 -> onLow(at)
			:: else
			fi
		:: else
		fi;
#endif
		atomic { c = 0; t = 0; at = 0 }
	od
}

init {
	atomic { run producer(); run taker(); run taker() }
	// A fall without a call would leave the producer asleep and the takers without a uid, which spin reports.
	_nr_pr == 1;
	assert(cursor == UIDS - 1)
}
