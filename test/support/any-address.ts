import type { IssuedAddressCheck } from '../../src/core/address-batch.ts'
import { AddressShares } from '../../src/core/address-shares.ts'

/** For tests whose addresses no signer issued. */
export const anyAddress: IssuedAddressCheck = { isIssued: async () => true, shares: new AddressShares() }
