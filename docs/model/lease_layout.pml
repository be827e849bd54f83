// The announcement of layouts: package assigner/lease, the header and the slots. lease.md has the
// properties in words.
//
// Layout B follows layout A at the end 1. Processes that know A alone, processes that know both, and
// an operator who takes B back may stop for ever at any step. An end of a slot is 1, up to where B
// begins, or 2, beyond. Each Put is one step, and so is each Get.
//
// expect: ok
// variants: -DBROKEN=1 expect: error
// variants: -DBROKEN=2 expect: error
// variants: -DBROKEN=3 expect: error
// variants: -DBROKEN=4 expect: error
// variants: -DBROKEN=5 expect: error

#ifndef BROKEN
#define BROKEN 0
#endif
#ifndef PUTS
#define PUTS 5          // the most changes of the header
#endif

#define A        0      // "A"
#define ANNOUNCE 1      // "A|B"
#define SETTLED  2      // "A,B"
#define TAKING   3      // "A~B"

byte layouts;           // of the header
byte version;           // of the header; one more with every change

byte end_[4] = 1;       // of the slots: 0 and 1 know A, 2 and 3 know both

// Ghosts.
bool inA, inB;          // a window beyond 1 was granted to a process that stamps with A, or with B

// put changes the header if it is still the one that was read.
inline put(to) {
	atomic {
		if
		:: version == v && version < PUTS -> version++; layouts = to; done = true
		:: else -> done = false
		fi
	}
}

// looked is whether all slots ended at 1 or before, after the header was read.
inline look() {
	atomic { clear = end_[0] == 1 && end_[1] == 1 && end_[2] == 1 && end_[3] == 1 }
}

// knowsA is a process that knows A alone. It extends its window twice.
proctype knowsA(byte me) {
	byte l;
	byte n;
	do
	:: n < 2 ->
		n++;
#if BROKEN == 5
		l = layouts;    // the Get is of a replica: it shows what was there before the Put
#endif
		end_[me] = 2;   // the Put of the slot is answered
#if BROKEN == 1
		inA = true;     // the window grows before the header is read
#endif
#if BROKEN != 5
		l = layouts;
#endif
		if
		:: l == A -> inA = true
		:: l != A       // the window is cut where B begins
		fi;
		l = 0
	:: !inA && n == 2 -> end_[me] = 1; break // released: nothing was stamped beyond
	:: true -> break
	od
}

// knowsB is a process that knows both. It takes one step of the header after the other.
proctype knowsB(byte me) {
	byte l, v;
	bool done, clear;
	do
	:: atomic { l = layouts; v = version };
		if
		:: l == A ->
#if BROKEN == 3
			look();         // before the layout is announced
			if :: clear -> put(SETTLED) :: else -> break fi
#else
			put(ANNOUNCE)
#endif
		:: l == ANNOUNCE ->
#if BROKEN == 2
			put(SETTLED)    // without a check of the slots
#else
			look();
			if :: clear -> put(SETTLED) :: else -> put(A); break fi
#endif
		:: l == TAKING -> put(SETTLED)
		:: l == SETTLED -> // claim or extend beyond the start of B
			end_[me] = 2;
			atomic {
				if
				:: layouts == SETTLED -> inB = true
				:: else -> skip // the window is cut
				fi
			};
			break
		fi;
		atomic { l = 0; v = 0; done = false; clear = false };
		if :: version < PUTS -> skip :: version == PUTS && layouts == SETTLED -> skip
		:: version == PUTS && layouts != SETTLED -> break fi
	:: true -> break
	od
}

// operator takes B back.
proctype operator() {
	byte l, v;
	bool done, clear;
	do
	:: atomic { l = layouts; v = version };
		if
		:: l == SETTLED -> put(TAKING)
		:: l == TAKING ->
#if BROKEN == 4
			put(A)          // without a check of the slots
#else
			look();
			if :: clear -> put(A) :: else -> put(SETTLED) fi
#endif
		:: l == ANNOUNCE -> put(A)
		:: l == A -> break
		fi;
		atomic { l = 0; v = 0; done = false; clear = false };
		if :: version < PUTS -> skip :: version == PUTS -> break fi
	:: true -> break
	od
}

// No two processes stamp with different layouts at the same time.
active proctype monitor() {
end:	atomic { inA && inB -> assert(!inA || !inB) }
}

init {
	atomic { run knowsA(0); run knowsA(1); run knowsB(2); run knowsB(3); run operator() }
}
