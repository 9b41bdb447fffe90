import { raw } from 'hono/html'

/** Line drawings on a 24 × 24 grid; decoration beside words that say the same. */
const PATHS = {
  check: 'M5 12.5l4.5 4.5L19 7.5',
  clock: 'M12 7v5l3 2M12 3a9 9 0 1 0 0 18a9 9 0 0 0 0-18z',
  alert:
    'M12 8v5M12 16.5v.01M10.3 4.3L2.9 17.5A2 2 0 0 0 4.6 20.5h14.8a2 2 0 0 0 1.7-3L13.7 4.3a2 2 0 0 0-3.4 0z',
  cross: 'M7 7l10 10M17 7L7 17',
  search: 'M11 4a7 7 0 1 0 0 14a7 7 0 0 0 0-14zM16 16l4.5 4.5',
  card: 'M3 6h18v12H3zM3 10.5h18M6 15h4',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  wallet: 'M4 7h14a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2zm0 0V6a2 2 0 0 1 2-2h10v3M16 13.5v.01',
} as const
export type IconName = keyof typeof PATHS

export function Icon(props: { name: IconName }) {
  return raw(
    `<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="${PATHS[props.name]}"/></svg>`,
  )
}
