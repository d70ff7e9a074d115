import { spawnSync } from 'node:child_process';
import { chownSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AglProcess } from './agl-process.ts';

/** It builds the packages, on a machine that may be busy. */
vi.setConfig({ testTimeout: 900_000 });

const repository = path.resolve(import.meta.dirname, '../../..');
/** The user of the image. */
const user = 10001;
/** Runs a command as the image does: its root file system is read-only except `$DATA` and `/tmp`, its user has no privileges. */
const asInImage = [
  'unshare',
  '--mount',
  'sh',
  '-euc',
  `mount --make-rprivate /
   mount -t tmpfs tmpfs /tmp
   mount --bind "$DATA" "$DATA"
   mount -o remount,bind,ro /
   exec setpriv --reuid ${user} --regid ${user} --clear-groups "$@"`,
  'sh',
];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync('/var/tmp/agl-image-');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Why this machine cannot run a command as the image does; null when it can. */
function obstacle(data: string): string | null {
  const [program = '', ...rest] = [...asInImage, 'true'];
  const { error, status, stderr } = spawnSync(program, rest, { encoding: 'utf8', env: { ...process.env, DATA: data } });
  return status === 0 ? null : (error?.message ?? stderr);
}

test('the content of the image serves without privileges and on a read-only root', {
  tags: ['long'],
}, async (context) => {
  const data = path.join(folder, 'data');
  mkdirSync(data);
  const reason = obstacle(data);
  if (reason !== null) return context.skip(`this machine cannot make mount namespaces: ${reason}`);
  const image = path.join(folder, 'agl');
  const assembled = spawnSync('sh', ['apps/trainer/deploy/assemble.sh', image], { cwd: repository, encoding: 'utf8' });
  expect(assembled.status, assembled.stderr).toBe(0);
  const bill = JSON.parse(readFileSync(path.join(image, 'sbom.cdx.json'), 'utf8')) as {
    readonly components: readonly { readonly name: string }[];
  };
  expect(bill.components.map(({ name }) => name)).toEqual(expect.arrayContaining(['commander', 'zod']));
  expect(existsSync(path.join(image, 'node_modules/typescript'))).toBe(false);

  // The image has its own Node.js; that of this repository may be in a folder that other users cannot enter.
  const node = path.join(image, 'node');
  copyFileSync(process.execPath, node);
  for (const each of [folder, data]) chownSync(each, user, user);
  await using server = new AglProcess(['server', '--port', '0', '--data', data], {
    prefix: asInImage,
    command: [node, path.join(image, 'dist/cli/main.js')],
    env: { DATA: data, HOME: '/tmp' },
  });
  const { url } = await server.event('ready');
  expect((await fetch(`${String(url)}/healthz`)).status).toBe(200);
  server.terminate();
  expect(await server.exitCode()).toBe(0);
});
