// Loaded by Node before a backend that `assay --intercept` started: its fetch knows no proxy, so
// connections that would leave this machine for ports of the web go to Assay's instead, which answers
// for the services and refuses everybody else.
'use strict';
const net = require('node:net');

const [place, port] = (process.env.ASSAY_EGRESS || '').split(/:(?=\d+$)/);
const allowed = (process.env.ASSAY_EGRESS_ALLOW || '').toLowerCase().split(',').filter(Boolean);

function leaves(options) {
  if (!options || options.path || ![80, 443].includes(Number(options.port))) return false;
  const host = String(options.host || options.hostname || 'localhost')
    .toLowerCase().replace(/^\[|\]$/g, '');
  if (/^(localhost|.*\.localhost|127\.[\d.]+|::1|::|0\.0\.0\.0|::ffff:127\.[\d.]+)$/.test(host)) {
    return false;
  }
  return !allowed.includes(host);
}

if (port) {
  const connect = net.Socket.prototype.connect;
  net.Socket.prototype.connect = function (...given) {
    // net.connect hands over a list that it has put in order; everybody else hands over what they got.
    const isList = Array.isArray(given[0]);
    const [options, callback] = isList ? given[0] : net._normalizeArgs(given);
    if (!leaves(options)) return connect.apply(this, given);
    const changed = { ...options, host: place, port: Number(port), family: 4 };
    delete changed.lookup;
    return callback ? connect.call(this, changed, callback) : connect.call(this, changed);
  };
}
