/*
 * An attacker with the key of its second argument: sends the requests of all attacks in turns, one at a time, until it receives `close`. Its priority is the
 * lowest, since it shares the machine with the server.
 */
import { setPriority } from 'node:os';
import { attacksOf } from './attacks.ts';

setPriority(19);
const [url = '', key = ''] = process.argv.slice(2);
const attacks = Object.values(attacksOf({ url, key }));
let requests = 0;
let errors = 0;
process.on('message', (message) => {
  if (message === 'close') process.exit(0);
  if (message === 'read') process.send?.({ requests, errors });
});
process.send?.('ready');
for (let index = 0; ; index += 1) {
  const status = await attacks[index % attacks.length]?.();
  requests += 1;
  if (status === 500) errors += 1;
}
