/**
 * The page's whole style. Logical properties throughout, so that it reads from right to left as well. Colours
 * meet WCAG AA in both schemes (test/browser measures them); the QR code stays black on white in both.
 */
const SOURCE = `
:root {
  color-scheme: light dark;
  --page: #f3f5f8; --card: #fff; --well: #f6f8fa; --ink: #131722; --quiet: #565e6c; --line: #dce1e8;
  --accent: #2b50d8; --on-accent: #fff; --good: #0b7a4a; --good-well: #e4f6ec;
  --warn: #7c4a03; --warn-well: #fff4dc; --bad: #b3261e; --bad-well: #fdeceb;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0d1015; --card: #171b22; --well: #1f242d; --ink: #eef1f6; --quiet: #a5aebc; --line: #2d343f;
    --accent: #93a9ff; --on-accent: #0d1015; --good: #57cd94; --good-well: #14301f;
    --warn: #f3c667; --warn-well: #33280f; --bad: #ffa69d; --bad-well: #3a1a18;
  }
}
* { box-sizing: border-box; margin: 0; }
html { font: 100%/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif; -webkit-text-size-adjust: 100%; }
body { min-block-size: 100vh; display: flex; flex-direction: column; background: var(--page); color: var(--ink); }
.unseen { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none !important; }
.banner { padding: .5rem 1rem; text-align: center; font-size: .875rem; font-weight: 600; background: var(--warn-well); color: var(--warn); }
.banner.lost { background: var(--bad-well); color: var(--bad); position: sticky; inset-block-start: 0; z-index: 1; }
main { flex: 1; inline-size: 100%; max-inline-size: 54rem; margin-inline: auto; padding: clamp(.75rem, 4vw, 2.5rem) clamp(.75rem, 4vw, 1.5rem); }
main:focus, h1:focus { outline: none; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 1rem; padding: clamp(1rem, 5vw, 2rem); max-inline-size: 31rem; margin-inline: auto; box-shadow: 0 1px 2px #0b122010, 0 12px 32px -12px #0b122024; }
.card.wide { max-inline-size: none; }
.shop { display: flex; align-items: center; gap: .75rem; font-weight: 600; }
.avatar { flex: none; display: grid; place-items: center; inline-size: 2.25rem; block-size: 2.25rem; border-radius: .625rem; background: var(--accent); color: var(--on-accent); }
.shop-name { overflow-wrap: anywhere; }
.steps { display: flex; gap: .5rem; list-style: none; padding: 0; margin-block-start: 1.25rem; font-size: .8125rem; color: var(--quiet); }
.steps li { flex: 1; border-block-start: 3px solid var(--line); padding-block-start: .375rem; }
.steps .now { border-color: var(--accent); color: var(--ink); font-weight: 600; }
.steps .done { border-color: var(--good); color: var(--good); }
.columns { display: grid; gap: 1.5rem; margin-block-start: 1.5rem; }
h1 { font-size: clamp(1.5rem, 6vw, 2rem); line-height: 1.2; letter-spacing: -.015em; overflow-wrap: anywhere; text-wrap: balance; font-variant-numeric: tabular-nums; }
h2 { font-size: 1rem; }
:lang(ja) { word-break: auto-phrase; }
.lead { margin-block-start: .5rem; color: var(--quiet); font-size: 1.0625rem; overflow-wrap: anywhere; }
.price { margin-block-start: .25rem; color: var(--quiet); overflow-wrap: anywhere; }
.icon { flex: none; inline-size: 1.25rem; block-size: 1.25rem; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
.deadline { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .5rem; margin-block-start: 1.25rem; padding: .75rem; border-radius: .75rem; font-size: .9375rem; background: var(--well); }
h1.long { font-size: clamp(1.125rem, 5vw, 1.75rem); }
.deadline > :nth-child(2) { flex: 1 1 8rem; }
.countdown { margin-inline-start: auto; font-weight: 600; font-variant-numeric: tabular-nums; }
.deadline.soon { background: var(--warn-well); color: var(--warn); }
.deadline.last { background: var(--bad-well); color: var(--bad); }
.rate { margin-block-start: .5rem; font-size: .875rem; color: var(--quiet); }
.notice { display: flex; gap: .625rem; margin-block-start: 1rem; padding: .75rem 1rem; border-radius: .75rem; font-size: .9375rem; text-align: start; background: var(--warn-well); color: var(--warn); overflow-wrap: anywhere; }
.notice .icon { margin-block-start: .125rem; }
.scan, .details, .summary { min-inline-size: 0; }
.details > :first-child { margin-block-start: 0; }
.tabs { border: 0; padding: 0; min-inline-size: 0; display: grid; grid-template-columns: 1fr 1fr; }
.tabs input { position: absolute; opacity: 0; pointer-events: none; }
.tabs label { display: grid; place-items: center; min-block-size: 2.75rem; padding: .25rem .5rem; text-align: center; line-height: 1.2; font-size: .875rem; color: var(--quiet); border-block-end: 2px solid var(--line); cursor: pointer; }
.tabs input:checked + label { color: var(--ink); font-weight: 600; border-color: var(--accent); }
.qr { grid-column: 1 / -1; justify-self: center; inline-size: min(100%, 17rem); margin-block: 1rem; background: #fff; border-radius: .75rem; overflow: hidden; aspect-ratio: 1; }
.qr svg { display: block; inline-size: 100%; block-size: 100%; forced-color-adjust: none; }
#qr-payment:checked ~ .qr-address, #qr-address:checked ~ .qr-payment { display: none; }
.button { display: flex; align-items: center; justify-content: center; gap: .5rem; min-block-size: 3rem; padding: .5rem 1rem; border-radius: .75rem; font-weight: 600; text-decoration: none; background: var(--accent); color: var(--on-accent); }
.button { inline-size: 100%; border: 1px solid transparent; font: inherit; font-weight: 600; cursor: pointer; text-align: center; }
.button.second { background: var(--card); color: var(--ink); border-color: var(--quiet); }
.logo { flex: none; max-inline-size: min(10rem, 45%); max-block-size: 2.25rem; inline-size: auto; block-size: auto; border-radius: .375rem; background: #fff; }
.open, .paper { margin-block-start: 1.5rem; }
.coins { border: 0; padding: 0; min-inline-size: 0; display: grid; gap: .5rem; margin-block: 1.25rem; }
.coins legend { font-weight: 600; margin-block-end: .5rem; }
.coin { display: flex; flex-wrap: wrap; align-items: center; gap: .125rem .75rem; min-block-size: 3.25rem; padding: .5rem 1rem; border: 1px solid var(--line); border-radius: .75rem; cursor: pointer; }
.coin input { flex: none; inline-size: 1.25rem; block-size: 1.25rem; margin: 0; accent-color: var(--accent); }
.coin:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
.coin:has(:disabled) { cursor: not-allowed; background: var(--well); border-style: dashed; }
.coin-name { font-weight: 600; flex: 1 1 auto; }
.coin small { font-weight: 400; font-size: .8125rem; color: var(--quiet); }
.coin-amount { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; min-inline-size: 0; }
.open .button { margin-block-start: 1rem; }
.switch { margin-block-start: 1rem; border-block-start: 1px solid var(--line); }
.switch summary { display: flex; align-items: center; min-block-size: 2.75rem; font-size: .9375rem; font-weight: 600; cursor: pointer; }
.switch summary::before { content: '+'; inline-size: 1.25rem; color: var(--quiet); }
.switch[open] summary::before { content: '–'; }
.switch p { font-size: .9375rem; color: var(--quiet); }
.by-card { margin-block-start: 1rem; }
.input { display: grid; gap: .375rem; margin-block-start: 1.25rem; font-weight: 600; }
.input select, .input input { inline-size: 100%; min-inline-size: 0; min-block-size: 3rem; padding: .5rem .75rem; border: 1px solid var(--quiet); border-radius: .75rem; background: var(--card); color: var(--ink); font: inherit; font-weight: 400; }
.open h2 { margin-block-start: 1.5rem; }
.offers { display: grid; gap: .75rem; margin-block-start: 1.25rem; }
.offer { padding: .875rem 1rem; border: 1px solid var(--line); border-radius: .75rem; }
.offer.closed { border-style: dashed; background: var(--well); }
.offer h2 { margin: 0; }
.offer p { color: var(--quiet); font-size: .9375rem; overflow-wrap: anywhere; }
.links > a:not(.button) { display: grid; place-items: center; min-block-size: 2.75rem; color: inherit; }
.choices .button { margin-block-start: .75rem; font-size: .9375rem; }
.links { display: grid; gap: .75rem; margin-block-start: 1.25rem; }
.keep { margin-block-start: 1rem; font-size: .875rem; color: var(--quiet); text-align: start; }
.why { margin-block-start: 1.5rem; text-align: start; font-size: .9375rem; }
.why p { margin-block-start: .25rem; color: var(--quiet); }
.languages { display: flex; flex-wrap: wrap; justify-content: center; margin-block-start: .5rem; }
.languages a { display: inline-grid; place-items: center; min-inline-size: 2.75rem; min-block-size: 2.75rem; padding-inline: .5rem; color: inherit; text-decoration: none; }
.languages a:hover, .languages [aria-current] { text-decoration: underline; }
.languages [aria-current] { font-weight: 600; color: var(--ink); }
.wallets .button { margin-block-start: .75rem; }
.wallets .button:disabled { opacity: .6; cursor: default; filter: none; }
.wallets img { flex: none; border-radius: .375rem; }
#wallet-note:empty { display: none; }
#wallet-note { margin-block-start: .75rem; font-size: .9375rem; overflow-wrap: anywhere; }
.button:hover { filter: brightness(1.08); }
.field { display: flex; align-items: center; justify-content: space-between; gap: .75rem; margin-block-start: .75rem; padding-block: .625rem; padding-inline: 1rem .625rem; border: 1px solid var(--line); border-radius: .75rem; }
.field > div { min-inline-size: 0; }
.label { display: block; font-size: .8125rem; color: var(--quiet); }
.value { display: block; overflow-wrap: anywhere; font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: .9375rem; line-height: 1.4; user-select: all; }
.value b { color: var(--accent); }
.value.amount { font-size: 1.0625rem; font-weight: 600; }
.unit { user-select: none; }
.copy, .sandbox button { display: inline-flex; align-items: center; justify-content: center; gap: .375rem; min-block-size: 2.75rem; padding: .25rem .75rem; border: 1px solid var(--line); border-radius: .625rem; background: var(--well); color: var(--ink); font: inherit; font-size: .875rem; font-weight: 600; cursor: pointer; }
.copy { flex: none; min-inline-size: 5.75rem; }
.copy:hover, .sandbox button:hover { border-color: var(--quiet); }
.copy.done { border-color: var(--good); color: var(--good); background: var(--good-well); }
.outcome { text-align: center; margin-block-start: 2rem; }
.badge { display: inline-grid; place-items: center; inline-size: 4rem; block-size: 4rem; margin-block-end: 1rem; border-radius: 50%; background: var(--well); color: var(--quiet); }
.badge .icon { inline-size: 2rem; block-size: 2rem; }
.good .badge { background: var(--good-well); color: var(--good); }
.warning .badge { background: var(--warn-well); color: var(--warn); }
.waiting .badge { position: relative; color: var(--accent); }
.waiting .badge::after { content: ''; position: absolute; inset: 0; border-radius: 50%; border: 3px solid var(--line); border-block-start-color: var(--accent); animation: turn 1.2s linear infinite; }
@keyframes turn { to { transform: rotate(1turn); } }
.progress { margin-block-start: 1.25rem; text-align: center; font-weight: 600; font-variant-numeric: tabular-nums; }
progress { display: block; appearance: none; inline-size: 100%; block-size: .5rem; margin-block-start: .5rem; border: 0; border-radius: .25rem; overflow: hidden; background: var(--line); color: var(--accent); }
progress::-webkit-progress-bar { background: var(--line); }
progress::-webkit-progress-value { background: var(--accent); transition: inline-size .4s; }
progress::-moz-progress-bar { background: var(--accent); }
.choices { display: grid; gap: .75rem; margin-block-start: 1.5rem; text-align: start; }
.choices section { padding: .875rem 1rem; border: 1px solid var(--line); border-radius: .75rem; }
.choices p { margin-block-start: .25rem; color: var(--quiet); font-size: .9375rem; overflow-wrap: anywhere; }
.receipt { margin-block-start: 1.75rem; border-block-start: 1px solid var(--line); text-align: start; font-size: .9375rem; }
.receipt div { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .125rem 1rem; padding-block: .625rem; border-block-end: 1px solid var(--line); }
.receipt div:last-child { border-block-end: 0; padding-block-end: 0; }
.receipt dt { color: var(--quiet); }
.receipt dd { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.receipt .transaction dd { flex-basis: 100%; }
.txid { display: block; overflow-wrap: anywhere; font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: .8125rem; color: var(--quiet); user-select: all; }
.sandbox { max-inline-size: 31rem; margin: 1rem auto 0; padding: .5rem clamp(1rem, 5vw, 2rem); border: 1px dashed var(--quiet); border-radius: 1rem; }
.wide + .sandbox { max-inline-size: none; }
.sandbox summary { display: flex; align-items: center; min-block-size: 2.75rem; font-weight: 600; cursor: pointer; }
.sandbox summary::before { content: '+'; inline-size: 1.25rem; color: var(--quiet); }
.sandbox[open] summary::before { content: '–'; }
.sandbox p { font-size: .875rem; color: var(--quiet); }
.sandbox form { display: flex; flex-wrap: wrap; gap: .5rem; margin-block: .75rem .5rem; }
.sandbox button { background: var(--card); }
.sandbox button:disabled { opacity: .55; cursor: progress; }
.sandbox .failure { color: var(--bad); }
footer { padding: 0 1rem 1.5rem; text-align: center; font-size: .8125rem; color: var(--quiet); }
:focus-visible, .tabs input:focus-visible + label { outline: 3px solid var(--accent); outline-offset: 2px; }
@media (min-width: 48rem) {
  .columns { grid-template-columns: minmax(0, 1fr) 18rem; grid-template-rows: auto 1fr; gap: 1.5rem 3rem; }
  .scan { grid-column: 2; grid-row: 1 / 3; }
  .lead { font-size: 1.125rem; }
}
@media (max-width: 22rem) {
  .copy span { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); }
  .copy { min-inline-size: 2.75rem; padding: .25rem; }
}
@media (prefers-reduced-motion: reduce) { *, ::after { animation: none !important; transition: none !important; } }
@media print { body { background: #fff; } .sandbox, footer, .banner, .links, .steps { display: none; } main { padding: 0; } .card { box-shadow: none; border: 0; } }
`

/** Takes out what only the reader of this file needs. */
const squeeze = (css: string): string =>
  css
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,]) ?/g, '$1')
    .replace(/: /g, ':')
    .replaceAll(';}', '}')
    .trim()

export const STYLE = squeeze(SOURCE)

/** Hides what only works with script. For a `noscript` element. */
export const STYLE_WITHOUT_SCRIPT = '.scripted{display:none!important}'
