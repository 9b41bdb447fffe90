/** Where backups are kept. A name is there with all its bytes, or not at all. */
export type BackupStore = {
  /** For people; without credentials. */
  readonly description: string
  /** Bytes written. Throws `StartRefused` where it cannot be reached or written. */
  write(name: string, bytes: AsyncIterable<Uint8Array>): Promise<number>
  /** Throws `StartRefused` where there is none of that name. */
  read(name: string): AsyncIterable<Uint8Array>
  /** Names of whole backups, oldest first. */
  list(): Promise<readonly string[]>
  remove(name: string): Promise<void>
}
