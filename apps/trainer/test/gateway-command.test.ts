import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { AttemptTokens } from '@agentlightning/core/protocol';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { type AttemptedRollout, attemptBaseUrl } from '@agentlightning/core/store';
import { failWith, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import OpenAI from 'openai';
import { describe, expect, it, vi } from 'vitest';
import { tokensOfStoreFile } from '../src/runtime/attempt-secret.ts';
import { runAgl } from './agl-command.ts';
import { AglProcess } from './agl-process.ts';
import { RunFolder } from './run-folder.ts';

const request = { model: 'any', messages: [{ role: 'user' as const, content: 'What is 2 + 3?' }] };

/** Starts `agl gateway` on the store of a folder; resolves with where it listens. */
async function startGateway(options: {
  readonly folder: RunFolder;
  readonly flags: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}): Promise<{ readonly agl: AglProcess; readonly url: string }> {
  const { folder, flags, env = {} } = options;
  const agl = new AglProcess(['gateway', '--store', storeOf(folder), '--port', '0', ...flags], { env });
  return { agl, url: String((await agl.event('ready'))['url']) };
}

function storeOf(folder: RunFolder): string {
  return folder.storeUrl;
}

async function startRollout(folder: RunFolder): Promise<AttemptedRollout> {
  const store = await openStore(storeOf(folder));
  const rollout = await store.startRollout({ input: 1 });
  await store.close();
  return rollout;
}

/** A token signed with the secret beside the store's file. */
async function tokenFor(folder: RunFolder, { rolloutId, attempt }: AttemptedRollout): Promise<string> {
  const tokens = await tokensOfStoreFile(storeOf(folder));
  return (await tokens?.create({ rolloutId, attemptId: attempt.attemptId })) ?? '';
}

function clientAt(url: string, { rolloutId, attempt }: AttemptedRollout, apiKey: string): OpenAI {
  const baseURL = attemptBaseUrl(`${url}/v1`, { rolloutId, attemptId: attempt.attemptId });
  return new OpenAI({ baseURL, apiKey, maxRetries: 0 });
}

function heldBack(): { readonly until: Promise<void>; readonly release: () => void } {
  let release: () => void = () => undefined;
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { until, release };
}

describe('agl gateway', () => {
  it('completes its calls when stopped, rejects new ones, and then exits', async () => {
    const { until, release } = heldBack();
    const model = await ScriptedModel.start([respondWith('5', { until })]);
    using folder = new RunFolder();
    const rollout = await startRollout(folder);
    const { agl, url } = await startGateway({ folder, flags: ['--upstream', model.baseUrl, '--drain', '60s'] });
    await using _ = agl;
    const client = clientAt(url, rollout, await tokenFor(folder, rollout));
    const stream = client.chat.completions.create({ ...request, stream: true });
    while (model.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    agl.terminate();
    let status = 0;
    while (status !== 429) {
      const error: unknown = await client.models.list({ timeout: 5000 }).then(
        () => client.chat.completions.create(request).catch((reason: unknown) => reason),
        (reason: unknown) => reason,
      );
      if (error instanceof OpenAI.APIError) status = error.status ?? 0;
    }
    release();
    let text = '';
    for await (const chunk of await stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe('5');
    expect(await agl.exitCode()).toBe(0);
    expect(agl.stderr).toContain('gateway is stopping');
    const store = await openStore(storeOf(folder));
    const { items } = await store.querySpans({ rolloutId: rollout.rolloutId });
    expect(items.map(modelCallFromSpan)).toMatchObject([{ isTrainable: true, choices: [{ index: 0 }] }]);
    await store.close();
    await model.close();
  });

  it('does not wait longer than it may for a call that does not end', async () => {
    const model = await ScriptedModel.start([respondWith('5', { until: new Promise(() => undefined) })]);
    using folder = new RunFolder();
    const rollout = await startRollout(folder);
    const { agl, url } = await startGateway({ folder, flags: ['--upstream', model.baseUrl, '--drain', '0.2s'] });
    await using _ = agl;
    const call = clientAt(url, rollout, await tokenFor(folder, rollout))
      .chat.completions.create(request)
      .catch((error: unknown) => error);
    while (model.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    agl.terminate();
    expect(await call).toMatchObject({ status: 503, code: 'UNREACHABLE' });
    expect(await agl.exitCode()).toBe(0);
    await model.close();
  });

  it('records the fields that --secret-field names without their values', async () => {
    const model = await ScriptedModel.start([respondWith('5')]);
    using folder = new RunFolder();
    const rollout = await startRollout(folder);
    const flags = ['--upstream', model.baseUrl, '--secret-field', 'tenant', 'team'];
    const { agl, url } = await startGateway({ folder, flags });
    await using _ = agl;
    const body = { ...request, tenant: 'sk-1', team: 'sk-2', api_key: 'sk-3', kept: 'x' };
    await clientAt(url, rollout, await tokenFor(folder, rollout)).chat.completions.create(body);
    expect(model.requests[0]?.body).toMatchObject({ tenant: 'sk-1', team: 'sk-2', api_key: 'sk-3' });
    agl.terminate();
    expect(await agl.exitCode()).toBe(0);
    const store = await openStore(storeOf(folder));
    const { items } = await store.querySpans({ rolloutId: rollout.rolloutId });
    const [call] = items.map(modelCallFromSpan);
    expect(call?.request).toEqual({ ...request, tenant: '…', team: '…', api_key: '…', kept: 'x' });
    await store.close();
    await model.close();
  });

  it('ends calls whose model server sends no byte within --first-byte-timeout', async () => {
    const model = await ScriptedModel.start([respondWith('5', { until: new Promise(() => undefined) })]);
    using folder = new RunFolder();
    const rollout = await startRollout(folder);
    const flags = ['--upstream', model.baseUrl, '--upstream-timeout', '1h', '--first-byte-timeout', '0.1s'];
    const { agl, url } = await startGateway({ folder, flags });
    await using _ = agl;
    const call = clientAt(url, rollout, await tokenFor(folder, rollout)).chat.completions.create(request);
    await expect(call).rejects.toMatchObject({ status: 504, code: 'TIMEOUT' });
    agl.terminate();
    expect(await agl.exitCode()).toBe(0);
    await model.close();
  });

  it('knows agents by their tokens and those who run it by their key, and logs no secret', async () => {
    const model = await ScriptedModel.start([respondWith('5')]);
    using folder = new RunFolder();
    const rollout = await startRollout(folder);
    const secret = 'a secret of the tests with thirty-two bytes';
    const upstreams = path.join(folder.path, 'upstreams.json');
    writeFileSync(upstreams, JSON.stringify([{ id: 'tiny', baseUrl: model.baseUrl, apiKey: { env: 'TINY_KEY' } }]));
    const { agl, url } = await startGateway({
      folder,
      flags: ['--upstreams', upstreams],
      env: {
        AGL_TOKEN_SECRET: secret,
        AGL_GATEWAY_ADMIN_KEY: 'admin-key',
        TINY_KEY: 'sk-tiny',
        AGL_LOG_LEVEL: 'debug',
      },
    });
    await using _ = agl;
    const {
      rolloutId,
      attempt: { attemptId },
    } = rollout;
    const token = await new AttemptTokens({ secrets: [secret] }).create({ rolloutId, attemptId });
    const headers = { 'x-request-id': 'from-the-test' };
    const completion = await clientAt(url, rollout, token).chat.completions.create(request, { headers });
    expect(completion._request_id).toBe('from-the-test');
    expect(model.requests[0]?.headers).toMatchObject({
      authorization: 'Bearer sk-tiny',
      'x-request-id': 'from-the-test',
    });
    const metrics = (key: string): Promise<Response> =>
      fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${key}` } });
    expect((await metrics(token)).status).toBe(403);
    expect(await (await metrics('admin-key')).text()).toContain('agl_gateway_calls_total{api="chat-completions"');
    agl.interrupt();
    expect(await agl.exitCode()).toBe(0);
    expect(agl.stderr).toContain('"requestId":"from-the-test"');
    expect(agl.stderr).toContain(rolloutId);
    for (const hidden of [secret, 'admin-key', 'sk-tiny', token]) expect(agl.stderr + agl.output).not.toContain(hidden);
    await model.close();
  });

  it('requires the token of the attempt without a configured secret, also after a restart', async () => {
    const model = await ScriptedModel.start([respondWith('5'), respondWith('5')]);
    using folder = new RunFolder();
    const [rollout, other] = [await startRollout(folder), await startRollout(folder)];
    for (let start = 0; start < 2; start += 1) {
      const { agl, url } = await startGateway({ folder, flags: ['--upstream', model.baseUrl] });
      await using _ = agl;
      const token = await tokenFor(folder, rollout);
      const statusOf = async (attempt: AttemptedRollout, key: string): Promise<number> =>
        await clientAt(url, attempt, key)
          .chat.completions.create(request)
          .then(
            () => 200,
            (error: unknown) => (error instanceof OpenAI.APIError ? (error.status ?? 0) : 0),
          );
      expect([await statusOf(rollout, token), await statusOf(rollout, 'guess'), await statusOf(other, token)]).toEqual([
        200, 401, 403,
      ]);
    }
    await model.close();
  });

  it('logs once that an endpoint rejects its key', async () => {
    const refused = failWith(401, { message: 'Incorrect API key' });
    const model = await ScriptedModel.start([refused, refused]);
    using folder = new RunFolder();
    const rollout = await startRollout(folder);
    const flags = ['--upstream', model.baseUrl, '--allow-unauthenticated'];
    const { agl, url } = await startGateway({ folder, flags });
    await using _ = agl;
    for (const _call of [1, 2]) {
      await expect(clientAt(url, rollout, 'unused').chat.completions.create(request)).rejects.toMatchObject({
        status: 502,
      });
    }
    agl.terminate();
    expect(await agl.exitCode()).toBe(0);
    expect(agl.stderr.match(/a model endpoint rejects its key/g)).toHaveLength(1);
    await model.close();
  });

  it('accepts calls without a token where a flag allows it', async () => {
    const model = await ScriptedModel.start([respondWith('5')]);
    using folder = new RunFolder();
    const rollout = await startRollout(folder);
    const flags = ['--upstream', model.baseUrl, '--allow-unauthenticated'];
    const { agl, url } = await startGateway({ folder, flags });
    await using _ = agl;
    expect((await clientAt(url, rollout, 'unused').chat.completions.create(request)).choices).toHaveLength(1);
    agl.terminate();
    expect(await agl.exitCode()).toBe(0);
    expect(agl.stderr).toContain('the gateway is unauthenticated');
    await model.close();
  });

  it.each([
    [['--store', ':memory:'], /has no model server/],
    [['--store', ':memory:', '--upstreams', '/nowhere.json'], /nowhere\.json cannot be read/],
    [['--store', ':memory:', '--allow-unauthenticated', '--upstream', 'localhost:8000'], /not an http\(s\) URL/],
    [
      ['--store', ':memory:', '--allow-unauthenticated', '--upstream', 'http://x/v1', '--host', '0.0.0.0'],
      /no apiKey is set[\s\S]*AGL_GATEWAY_KEY/,
    ],
    [
      ['--store', 'http://127.0.0.1:1', '--upstream', 'http://x/v1'],
      /no secret for attempt tokens: http:\/\/127\.0\.0\.1:1 is not[\s\S]*AGL_TOKEN_SECRET[\s\S]*--allow-unauthenticated/,
    ],
    [['--store', ':memory:', '--agl-server'], /--agl-server has no key[\s\S]*AGL_GATEWAY_ADMIN_KEY/],
  ])('says what is wrong with %j', async (flags, message) => {
    const { code, stderr } = await runAgl(['gateway', ...flags]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  it('rejects a flag that has no effect beside a secret', async () => {
    const flags = ['--store', ':memory:', '--allow-unauthenticated', '--upstream', 'http://localhost:8000/v1'];
    vi.stubEnv('AGL_TOKEN_SECRET', 's'.repeat(32));
    const { code, stderr } = await runAgl(['gateway', ...flags]).finally(() => vi.unstubAllEnvs());
    expect(code).toBe(2);
    expect(stderr).toMatch(/--allow-unauthenticated has no effect/);
  });

  it('explains itself', async () => {
    const { code, output } = await runAgl(['gateway', '--help']);
    expect(code).toBe(0);
    for (const word of ['Examples:', 'postgres://', '--agl-server', 'AGL_TOKEN_SECRET', '/metrics', 'SIGTERM']) {
      expect(output).toContain(word);
    }
  });
});
