import type { NativeError } from './load-svm.ts'

/**
 * A transaction's error as Solana's JSON-RPC writes it: a name, or an object of one name. The native library
 * numbers them in the order of `TransactionError` and `InstructionError` of the Solana SDK.
 */
export type TransactionError = string | { readonly [name: string]: unknown }

const TRANSACTION_ERRORS = [
  'AccountInUse',
  'AccountLoadedTwice',
  'AccountNotFound',
  'ProgramAccountNotFound',
  'InsufficientFundsForFee',
  'InvalidAccountForFee',
  'AlreadyProcessed',
  'BlockhashNotFound',
  'CallChainTooDeep',
  'MissingSignatureForFee',
  'InvalidAccountIndex',
  'SignatureFailure',
  'InvalidProgramForExecution',
  'SanitizeFailure',
  'ClusterMaintenance',
  'AccountBorrowOutstanding',
  'WouldExceedMaxBlockCostLimit',
  'UnsupportedVersion',
  'InvalidWritableAccount',
  'WouldExceedMaxAccountCostLimit',
  'WouldExceedAccountDataBlockLimit',
  'TooManyAccountLocks',
  'AddressLookupTableNotFound',
  'InvalidAddressLookupTableOwner',
  'InvalidAddressLookupTableData',
  'InvalidAddressLookupTableIndex',
  'InvalidRentPayingAccount',
  'WouldExceedMaxVoteCostLimit',
  'WouldExceedAccountDataTotalLimit',
  'MaxLoadedAccountsDataSizeExceeded',
  'ResanitizationNeeded',
  'InvalidLoadedAccountsDataSizeLimit',
  'UnbalancedTransaction',
  'ProgramCacheHitMaxLimit',
  'CommitCancelled',
] as const

/** Those of `InstructionError` that system transfers, nonces, tables and tokens meet; others keep their number. */
const INSTRUCTION_ERRORS = [
  'GenericError',
  'InvalidArgument',
  'InvalidInstructionData',
  'InvalidAccountData',
  'AccountDataTooSmall',
  'InsufficientFunds',
  'IncorrectProgramId',
  'MissingRequiredSignature',
  'AccountAlreadyInitialized',
  'UninitializedAccount',
  'UnbalancedInstruction',
] as const

export function transactionErrorOf(error: NativeError): TransactionError {
  if (typeof error === 'number') return TRANSACTION_ERRORS[error] ?? 'SanitizeFailure'
  if ('accountIndex' in error) return { InsufficientFundsForRent: { account_index: error.accountIndex } }
  if (error.err !== undefined) return { InstructionError: [error.index, instructionErrorOf(error.err())] }
  return { DuplicateInstruction: error.index }
}

function instructionErrorOf(error: unknown): unknown {
  if (typeof error === 'number') return INSTRUCTION_ERRORS[error] ?? 'GenericError'
  if (typeof error === 'object' && error !== null && 'code' in error) return { Custom: error.code }
  return { BorshIoError: String(error) }
}

/** Errors for which a transaction is in no block: nothing was executed and no fee was taken. */
export function isRefusedOutright(error: TransactionError): boolean {
  return typeof error === 'string' || 'DuplicateInstruction' in error || 'InsufficientFundsForRent' in error
}
