// The tick that uid.Default caches: tickCache.load of package uid.
//
// Each read and each write of a shared word is one step. Time goes on between any two steps. The
// wall clock shows what the monotonic one does. Two goroutines ask for the tick, and the one that finds
// the cache out of date reads the clock and refreshes it.
//
// It holds that a caller never gets a tick from before its call, for then an id could be stamped
// with a tick that the rollback policy takes for a clock that went back.
//
// expect: ok
// variants: -DCALLERS=3 -DCALLS=1 -DLAST=3 expect: ok
// variants: -DBROKEN=1 expect: error
// variants: -DBROKEN=2 expect: error
// variants: -DBROKEN=3 expect: error

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef CALLERS
#define CALLERS 2
#endif
#ifndef CALLS
#define CALLS 2
#endif
#ifndef LAST
#define LAST 5              // the clock stops here
#endif
#define TICK 2              // units of time in a tick
#define FRESH 3             // a cached tick is used for so long at most

byte now;                   // both clocks

// tickCache.
byte until;
byte tick;
bool mu;

active proctype time() {
	do
	:: now < LAST -> now++
	:: now == LAST -> break
	od
}

active [CALLERS] proctype caller() {
	byte mono, seen, read, got, calls;
	bool locked;
	do
	:: calls < CALLS ->
		calls++;
		mono = now;
#if BROKEN == 2
		got = tick;              // before until, which may say more of a newer tick
		seen = until;
#else
		seen = until;
		got = tick;              // used only if the cache is in date
#endif
		if
		:: mono < seen
		:: else ->
			atomic { locked = !mu; mu = true };
			read = now;
			got = read / TICK;
			if
			:: locked ->
#if BROKEN == 3
				tick = got;
				until = mono + FRESH   // beyond the tick's end
#elif BROKEN == 1
				until = mono + (FRESH < (got + 1) * TICK - read -> FRESH : (got + 1) * TICK - read);
				tick = got
#else
				tick = got;
				until = mono + (FRESH < (got + 1) * TICK - read -> FRESH : (got + 1) * TICK - read)
#endif
				;
				mu = false
			:: else
			fi
		fi;
		assert(got >= mono / TICK);
		mono = 0; seen = 0; read = 0; got = 0; locked = false  // fewer states
	:: else -> break
	od
}
