import { statSync } from 'node:fs'
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Below this a file in `test` only names what a suite beside it runs. */
const OWN_BYTES_MIN = 900

/**
 * Large files first, as by default, but those of a few lines that run a whole suite before all, and the quick ones beside
 * the sources last: a run that ends with a file of nodes and processes leaves the other core with nothing to do.
 */
export class QuickLast extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const turn = ({ moduleId }: TestSpecification) => {
      if (relative(this.ctx.config.root, moduleId).startsWith('src/')) return 2
      return statSync(moduleId).size < OWN_BYTES_MIN ? 0 : 1
    }
    return sorted.toSorted((one, other) => turn(one) - turn(other))
  }
}
