/** Why work was not begun: too much waits already, or nothing moves. */
export class Busy extends Error {
  override name = 'Busy'
}
