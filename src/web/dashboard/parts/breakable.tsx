import { Fragment } from 'react'

/** A long name without spaces, that a narrow column breaks after its dots, slashes and underscores and not within a word. */
export const Breakable = ({ text }: { text: string }) =>
  text.split(/(?<=[./_?&=])/).map((part, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other name, and may be equal.
    <Fragment key={at}>
      {at === 0 ? null : <wbr />}
      {part}
    </Fragment>
  ))
