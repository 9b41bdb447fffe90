import { deadlineStyle, utcTime } from './amounts.ts'
import type { CheckoutPage } from './checkout-page.ts'
import { Icon } from './icons.tsx'
import { fillParts } from './language.ts'

/** Until when the price holds; the script counts down beside it, except on a page that does not change. */
export function Deadline({
  page: { view, language },
  still = false,
}: {
  page: CheckoutPage
  still?: boolean
}) {
  const { messages } = language
  const style = deadlineStyle(view.createdAtMs, view.deadlineMs)
  const time = (
    <time dateTime={new Date(view.deadlineMs).toISOString()} data-style={style}>
      {utcTime(language, view.deadlineMs, style)}
    </time>
  )
  const message = view.usdCents === null ? messages.pay_by : messages.locked_until
  return (
    <p class="deadline" id="deadline">
      <Icon name="clock" />
      <span>{fillParts(message, { time })}</span>
      {!still && (
        <span class="countdown scripted" role="timer">
          {fillParts(messages.time_left, { time: <span id="countdown">–:––</span> })}
        </span>
      )}
    </p>
  )
}
