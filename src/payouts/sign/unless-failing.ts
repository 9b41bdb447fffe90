import { isDatabaseAway } from '../../postgres/database-away.ts'
import { alert } from './alert.ts'
import type { SigningContext } from './signing-context.ts'

/**
 * Builds what nothing was written of yet: a failure, unless it is the database's, is that one's alone, and the others
 * continue. Rows say anything, such as a name of a block that is none. `otherwise` is returned, with an alert.
 */
export async function unlessFailing<Built>(
  signer: SigningContext,
  about: { readonly id: string },
  build: () => Promise<Built>,
  otherwise: Built,
): Promise<Built> {
  try {
    return await build()
  } catch (error) {
    if (error instanceof Error && isDatabaseAway(error)) throw error
    alert(signer, about, 'what is to be signed cannot be, and waits', error)
    return otherwise
  }
}
