/**
 * A cache of so many entries, for the options of `LRUCache`. Its own `max` reserves the room of all of them at once:
 * half a megabyte and four milliseconds for 20,000.
 */
export function entriesUpTo(count: number): { maxSize: number; sizeCalculation: () => number } {
  return { maxSize: count, sizeCalculation: () => 1 }
}
