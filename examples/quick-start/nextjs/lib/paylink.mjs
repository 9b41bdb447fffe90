import { Paylink } from 'paylink-sdk'

export const paylink = new Paylink({
  baseUrl: process.env.PAYLINK_URL,
  apiKey: process.env.PAYLINK_API_KEY,
})
