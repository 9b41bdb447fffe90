/** The signer must not go on: its files and the database do not belong together. The message is one line that names the fix. */
export class SignerRefused extends Error {
  override name = 'SignerRefused'
}
