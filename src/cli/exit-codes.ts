/** It could not be done. */
export const EXIT_FAILED = 1
/** The command line itself is wrong. */
export const EXIT_USAGE = 2
/** A process that lives no longer than its parent refuses to start: its one line is on standard output, for the parent. */
export const EXIT_REFUSED = 78
/** Ended in the middle of stopping, because a second signal came. */
export const EXIT_FORCED = 130
