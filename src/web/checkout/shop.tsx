import type { CheckoutPage, ShopPage } from './checkout-page.ts'
import { Icon } from './icons.tsx'
import { LANGUAGES } from './language.ts'

/** Whose shop this is: logo or initial, and the name. */
export function Shop({ page }: { page: ShopPage }) {
  const { merchantName: name, branding } = page
  const initial = [...name.trim()][0] ?? '·'
  return (
    <header class="shop">
      {branding.logo === null ? (
        <span class="avatar" aria-hidden="true">
          {initial.toUpperCase()}
        </span>
      ) : (
        <img
          class="logo"
          src={branding.logo.path}
          width={Math.ceil(branding.logo.width / 2)}
          height={Math.ceil(branding.logo.height / 2)}
          alt=""
        />
      )}
      <bdi class="shop-name">{name}</bdi>
    </header>
  )
}

/** What the buyer pays for, where the shop said so. */
export function WhatFor(props: { page: Pick<CheckoutPage, 'item' | 'order' | 'language'> }) {
  const { item, order, language } = props.page
  if (item === null && order === null) return null
  return (
    <p class="what-for">
      {item !== null && <bdi>{item}</bdi>}
      {item !== null && order !== null && <br />}
      {order !== null && (
        <>
          {language.messages.order} <bdi>{order}</bdi>
        </>
      )}
    </p>
  )
}

/** Why the last thing that the buyer asked for did not succeed. */
export function NoticeBox({ page }: { page: ShopPage }) {
  if (page.notice === null || page.notice === 'sandbox_failed') return null
  return (
    <p class="notice" id="notice" role="alert">
      <Icon name="alert" />
      <span>{page.language.messages[page.notice]}</span>
    </p>
  )
}

/** The same page in every language. `query` is the page's query without `lang`. */
export function Languages({ page, query }: { page: ShopPage; query?: URLSearchParams }) {
  const hrefOf = (tag: string) => {
    const whole = new URLSearchParams(query)
    whole.set('lang', tag)
    return `?${whole}`
  }
  return (
    <nav class="languages" aria-label={page.language.messages.language}>
      {LANGUAGES.map(({ tag, name }) => (
        <a
          href={hrefOf(tag)}
          lang={tag}
          hreflang={tag}
          {...(tag === page.language.tag ? { 'aria-current': 'true' } : {})}
        >
          {name}
        </a>
      ))}
    </nav>
  )
}
