/** The signer must stop: its files and the database do not belong together. The message is one line that names the fix. */
export class SignerRefused extends Error {
  override name = 'SignerRefused'
}
