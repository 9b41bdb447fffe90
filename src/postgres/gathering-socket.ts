import { Socket } from 'node:net'

/**
 * A socket that sends everything written in one turn of the event loop at once. Statements that do not wait for one
 * another, a handful of protocol messages each, then cost one system call together; a call costs more than a small
 * statement does.
 */
export class GatheringSocket extends Socket {
  #gathering = false

  // Node's own overloads, of which only the first is ever used here.
  override write(chunk: Uint8Array | string, ...rest: unknown[]): boolean {
    if (!this.#gathering) {
      this.#gathering = true
      this.cork()
      process.nextTick(() => {
        this.#gathering = false
        this.uncork()
      })
    }
    return Reflect.apply(super.write, this, [chunk, ...rest])
  }

  override _writev(
    chunks: { chunk: Uint8Array | string; encoding: BufferEncoding }[],
    callback: (error?: Error | null) => void,
  ): void {
    const parts = chunks.map(({ chunk, encoding }) =>
      typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk,
    )
    // Node's own name for bytes that need no encoding; its types do not list it.
    this._write(Buffer.concat(parts), 'buffer' as BufferEncoding, callback)
  }
}
