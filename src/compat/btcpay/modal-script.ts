/**
 * `window.btcpay`, as plugins' checkouts use it. The buyer's page refuses to be framed, so that no other page can lay
 * itself over an address: the browser goes there, and the page's button leads back to the shop.
 */
export const MODAL_SCRIPT = `(function () {
  if (window.btcpay) return;
  var shop = document.currentScript.src.replace(/\\/modal\\/btcpay\\.js.*$/, '');
  var onEnter = function () {};
  var none = function () {};
  window.btcpay = {
    setApiUrlPrefix: function (url) { shop = url.replace(/\\/+$/, ''); },
    onModalWillEnter: function (callback) { onEnter = callback; },
    showInvoice: function (id) {
      onEnter();
      window.location.assign(shop + '/i/' + encodeURIComponent(id));
    },
    onModalWillLeave: none,
    onModalReceiveMessage: none,
    showFrame: none,
    hideFrame: none
  };
})();
`
