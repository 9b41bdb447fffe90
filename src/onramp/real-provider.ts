/** Whether a URL is one of the card providers' own, where real money is taken. */
export const isRealProvider = (url: URL): boolean => /(^|\.)(coinbase|moonpay)\.com$/.test(url.hostname)
