/** The one source of the time of day; tests put their own in its place. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()
