// A universe that moves: package assigner/lease, Move. lease.md has the properties in words.
//
// One worker id, a slot in the source and one in the target. Two processes of the source and one of
// the target claim, extend and release, and movers take one step after the other: one that stops is
// a Move that broke off, and the next one is Move run again. All may stop for ever at any step. Each
// Put is one step, and so is each Get. The source may be restored, once, after the target was
// opened, to a backup of any time before its seal: its processes then wait until the same Move has
// sealed it again. With -DBACK it is the target that is restored, once, to a backup of any time since
// it was closed: Restore has run before any process gets through, and the same Move runs after it,
// which cannot tell whether a target that is closed was open.
//
// expect: ok
// variants: -DMOVERS=3 -DMAX=2 expect: ok
// variants: -DBACK -DMOVERS=1 expect: ok
// variants: -DBACK -DMOVERS=1 -DBROKEN=8 expect: error
// variants: -DBROKEN=1 expect: error
// variants: -DBROKEN=2 expect: error
// variants: -DBROKEN=3 expect: error
// variants: -DBROKEN=4 expect: error
// variants: -DBROKEN=5 expect: error
// variants: -DBROKEN=6 expect: error
// variants: -DBROKEN=7 expect: error

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef MOVERS
#define MOVERS 2
#endif
#ifndef MAX
#define MAX 3           // ticks are 0 to MAX-1
#endif

#define NONE   0
#define CLOSED 1        // the target, before it is opened
#define OPEN   2
#define SEALED 3

// A store: what its header says, and its one slot. The floor is for a slot that is not there.
typedef store {
	byte header;
	bool there;
	byte owner;     // 0: none
	byte end_;
	byte floor
};

store s[2];             // the source and the target
bool held;              // the source was restored, and its processes wait

bool backed;            // there is a backup
byte backOwner, backEnd;
#ifdef BACK
bool backThere;
byte backHeader, backFloor;
#endif

byte granted[MAX];      // ghost: whose window a tick is in; 0: nobody's

// calls is whether a process may call its store.
#define calls (x == 1 || !held)

// process is one of the store x.
proctype process(byte me; byte x) {
	byte until, want, begin;
	bool mine;
end:	do
	:: atomic { !mine && calls && s[x].header == OPEN -> // claim: the Put of the slot
		begin = (s[x].there -> s[x].end_ : s[x].floor);
		if
		:: begin < MAX ->
			s[x].there = true; s[x].owner = me; s[x].end_ = begin + 1;
			mine = true; until = begin; want = begin + 1
		:: else -> break
		fi }
	:: atomic { mine && want == 0 && until < MAX && calls && s[x].owner == me &&
			s[x].end_ <= until + 1 -> // extend: the Put of the slot
		want = until + 1; s[x].end_ = want }
	:: atomic { want > 0 && (calls || BROKEN == 4) -> // the Get of the header after that
		if
#if BROKEN == 1
		:: s[x].header == OPEN || s[x].header == SEALED -> // a layout that begins later
#elif BROKEN == 4
		:: true ->
#else
		:: s[x].header == OPEN ->
#endif
			assert(granted[until] == 0); granted[until] = me; until = want
		:: else -> skip
		fi;
		want = 0 }
	:: atomic { mine && want == 0 && until > begin && calls -> // release: nothing of the last
		if                                                 // tick was stamped, or all
		:: granted[until - 1] = 0; until--
		:: true
		fi;
		if :: s[x].owner == me -> s[x].end_ = until; s[x].owner = 0 :: else -> skip fi;
		break }
	od;
	atomic { until = 0; want = 0; begin = 0; mine = false }
}

// look reads the source's slot. copy makes the target count with it, by a slot or by the floor.
inline look() { atomic { found = s[0].there; last = s[0].end_ } }
inline copy() {
	atomic {
		if
		:: !found -> skip
		:: found && s[1].there && s[1].end_ < last -> s[1].end_ = last; s[1].owner = 0
		:: found && s[1].there && s[1].end_ >= last -> skip
		:: found && !s[1].there ->
			s[1].there = true;
#if BROKEN == 7
			s[1].end_ = last        // an earlier run may have found a later end
#else
			s[1].end_ = (last > s[1].floor -> last : s[1].floor)
#endif
#if BROKEN == 5
		:: found && !s[1].there -> skip // neither copied nor below the floor
#else
		:: found && !s[1].there ->
			s[1].floor = (last > s[1].floor -> last : s[1].floor)
#endif
		fi;
		found = false; last = 0
	}
}

proctype mover() {
	byte last;
	bool found;
	atomic { if :: s[1].header == NONE -> s[1].header = CLOSED :: else -> skip fi };
#if BROKEN == 2
	s[1].header = OPEN;     // before anything is sealed
#endif
#if BROKEN == 3
	look();                 // before the seal
#endif
	atomic { s[0].header = SEALED; held = false };
#if BROKEN != 3
	look();
#endif
	copy();
	s[1].header = OPEN
}

#ifdef BACK
// operator restores the target from a backup, and runs Restore: the end of its slot, or the floor, is
// beyond every window, which is what its reach means.
proctype operator() {
end:	atomic { s[1].header != NONE -> backed = true; backHeader = s[1].header;
		backThere = s[1].there; backOwner = s[1].owner; backEnd = s[1].end_; backFloor = s[1].floor };
end1:	atomic { s[1].header == OPEN ->
		s[1].header = backHeader; s[1].there = backThere; s[1].owner = backOwner;
		s[1].end_ = backEnd; s[1].floor = backFloor;
#if BROKEN != 8
		s[1].owner = 0; s[1].floor = MAX; s[1].end_ = (s[1].there -> MAX : 0);
#endif
		backed = false; backThere = false; backOwner = 0; backEnd = 0; backHeader = NONE; backFloor = 0 }
	run mover()
}
#else
// operator restores the source from a backup.
proctype operator() {
end:	atomic { s[0].header == OPEN -> backed = true; backOwner = s[0].owner; backEnd = s[0].end_ };
end1:	atomic { s[0].header == SEALED && s[1].header == OPEN ->
		s[0].header = OPEN; s[0].owner = backOwner; s[0].end_ = backEnd;
#if BROKEN != 6
		held = true;
#endif
		backed = false; backOwner = 0; backEnd = 0 }
}
#endif

init {
	byte i;
	atomic {
		s[0].header = OPEN; s[0].there = true;
#ifdef BACK
		run process(1, 0); run process(2, 1); run process(3, 1);
#else
		run process(1, 0); run process(2, 0); run process(3, 1);
#endif
		for (i : 1 .. MOVERS) { run mover() }
		run operator(); i = 0
	}
}
