// Node loads this before a backend that `assay --intercept` started. Node's fetch ignores proxy
// settings. So connections to web ports of other machines are redirected to Assay, which responds
// for the services and refuses all other hosts.
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
    // net.connect passes a normalized list; other callers pass the original arguments.
    const isList = Array.isArray(given[0]);
    const [options, callback] = isList ? given[0] : net._normalizeArgs(given);
    if (!leaves(options)) return connect.apply(this, given);
    const changed = { ...options, host: place, port: Number(port), family: 4 };
    delete changed.lookup;
    return callback ? connect.call(this, changed, callback) : connect.call(this, changed);
  };
}
