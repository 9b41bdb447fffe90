import type { BlockRef } from '../core/invoice/types.ts'

/**
 * The newest `max` blocks of a chain as it was read, after a step from `ancestor` over `blocks`. Where another process or
 * provider read on meanwhile, what was remembered before is not joined to the ancestor, and is forgotten.
 */
export function trailAfter(
  trail: readonly BlockRef[],
  ancestor: BlockRef,
  blocks: readonly BlockRef[],
  max: number,
): readonly BlockRef[] {
  const place = trail.findIndex(({ hash }) => hash === ancestor.hash)
  return [...trail.slice(0, Math.max(0, place)), ancestor, ...blocks].slice(-max)
}
