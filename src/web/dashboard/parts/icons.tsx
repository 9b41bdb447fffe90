/** Line icons, 24 × 24, drawn in the colour of the text. Decoration: names stand beside them. */
const PATHS = {
  home: 'M3 11l9-8 9 8M5 9.5V20h5v-6h4v6h5V9.5',
  invoices: 'M6 3h12v18l-3-2-3 2-3-2-3 2zM9 8h6M9 12h6',
  attention: 'M12 3l9.5 17h-19zM12 10v4M12 17.5v.1',
  links: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7L12 7M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7L12 17',
  balances: 'M4 7h16v12H4zM4 7l11-4v4M16 13h.1',
  key: 'M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM11 12l9-9M17 6l3 3M14 9l2 2',
  webhooks: 'M9 8a3.5 3.5 0 1 1 5.5 2.5l3 5M8 16H6a3.5 3.5 0 1 0 3 3.5h8M12 8l-4 7M17.5 20a3.5 3.5 0 1 0 0-7',
  send: 'M4 12l16-8-6 16-3-7zM11 13l9-9',
  events: 'M4 6h3M4 12h3M4 18h3M10 6h10M10 12h10M10 18h10',
  payout: 'M12 15V3M7.5 7.5L12 3l4.5 4.5M4 13v7h16v-7',
  waiting: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l3 2',
  logs: 'M4 5h16v14H4zM7 9l3 3-3 3M12 15h5',
  book: 'M5 4h6a2 2 0 0 1 2 2v14a2 2 0 0 0-2-2H5zM19 4h-4a2 2 0 0 0-2 2v14a2 2 0 0 1 2-2h4z',
  coins: 'M9 6a5 5 0 1 0 0 10A5 5 0 0 0 9 6zM14.5 8.3a5 5 0 1 1-1 9.4',
  rules: 'M4 7h9M17 7h3M15 5v4M4 17h3M11 17h9M9 15v4M4 12h16',
  brand:
    'M12 3a9 9 0 1 0 0 18c2 0 1.5-2 1-3s0-2 2-2h2a4 4 0 0 0 4-4c0-5-4-9-9-9zM8 9h.1M13 7h.1M7 14h.1M17 10h.1',
  team: 'M9 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM3 20a6 6 0 0 1 12 0M16 5.5a3.5 3.5 0 0 1 0 6M17.5 14.5A6 6 0 0 1 21 20',
  security: 'M12 3l8 3v6c0 5-3.5 7.5-8 9-4.5-1.5-8-4-8-9V6zM9 12l2 2 4-4',
  audit: 'M7 3h7l5 5v13H7zM14 3v5h5M10 13h6M10 17h4',
  live: 'M12 3v9M6.5 6.5a8 8 0 1 0 11 0',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6L6 18',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
  external: 'M10 5H5v14h14v-5M14 4h6v6M20 4l-9 9',
  plus: 'M12 5v14M5 12h14',
  chevron: 'M9 6l6 6-6 6',
  down: 'M6 9l6 6 6-6',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.5 4.5',
  qr: 'M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2v2h-2zM18 14h2v2h-2zM14 18h2v2h-2zM18 18h2v2h-2z',
  customers: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 21a8 8 0 0 1 16 0',
  out: 'M10 4H5v16h5M14 8l4 4-4 4M8 12h10',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
