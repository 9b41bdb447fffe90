/** The signer must not go on: its files and the database do not belong together. The message is one line with the mend. */
export class SignerRefused extends Error {
  override name = 'SignerRefused'
}
