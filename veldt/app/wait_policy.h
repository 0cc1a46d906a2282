// How long a thread that has run out of work waits for the others before it sleeps.
#pragma once

namespace veldt::app {

// OpenMP's threads spin for milliseconds at the end of each parallel loop. On a machine that does anything
// else that starves the very thread they wait for: fitting was measured 3 to 10 times slower beside other
// jobs. The runtime reads its environment before main(), so the process starts itself once more with
// GOMP_SPINCOUNT set, unless the user has chosen a policy. Where that is not possible nothing changes but
// speed.
void prefer_short_waits(char** argv);

}  // namespace veldt::app
