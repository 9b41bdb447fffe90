import { Icon } from './icons.tsx'
import type { Words } from './words.ts'

/** The badge, heading and sentence of a page on which nothing is to be sent now. */
export function OutcomeHead({ words }: { words: Words }) {
  return (
    <>
      <span class="badge" aria-hidden="true">
        <Icon name={words.icon} />
      </span>
      <div id="announce">
        <h1 id="heading" tabindex={-1}>
          {words.heading}
        </h1>
        <p class="lead">{words.lead}</p>
      </div>
    </>
  )
}
