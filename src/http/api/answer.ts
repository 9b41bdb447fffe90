/** An answer before it meets the framework: the body's exact text, and headers beyond those of every answer. */
export type Answer = {
  readonly status: number
  readonly body: string
  readonly headers: { readonly [name: string]: string }
}
