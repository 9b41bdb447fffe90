import { Icon } from './icons.tsx'
import type { OutcomeText } from './outcome-text.ts'

/** The badge, heading and sentence of a page on which nothing is to be sent now. */
export function OutcomeHead({ text }: { text: OutcomeText }) {
  return (
    <>
      <span class="badge" aria-hidden="true">
        <Icon name={text.icon} />
      </span>
      <div id="announce">
        <h1 id="heading" tabindex={-1}>
          {text.heading}
        </h1>
        <p class="lead">{text.lead}</p>
      </div>
    </>
  )
}
