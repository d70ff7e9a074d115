import { expect, test } from 'vitest';
import { DashboardSessions } from './dashboard-sessions.ts';

test('many sign-ins with one key end only sessions of that key', async () => {
  const sessions = new DashboardSessions(async () => 'viewer');
  const viewers = sessions.viewersOf('default');
  const requestOf = (cookie: string | null): Request =>
    new Request('http://localhost/', { headers: { cookie: `agl_viewer=${cookie}` } });
  const other = requestOf(await viewers.cookieFor('key of another viewer'));
  const first = requestOf(await viewers.cookieFor('key'));
  const second = requestOf(await viewers.cookieFor('key'));
  for (let count = 0; count < 19; count += 1) await viewers.cookieFor('key');
  expect([other, first, second].map((request) => sessions.has(request))).toEqual([true, false, true]);
  for (let count = 0; count < 2000; count += 1) await viewers.cookieFor('key');
  expect(sessions.has(other)).toBe(true);
});
