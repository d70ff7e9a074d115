import { readFile } from 'node:fs/promises';
import { ChannelCredentials, Client, Metadata, status } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectRuntime, serveRuntime } from '../src/index.ts';
import { openRawClient, refusalOf } from '../src/testing/raw-client.ts';
import { GatedEngine } from './bag/gated-engine.ts';
import { serveGatedRuntime } from './serving-a-runtime.ts';

const pem = (name: string) => readFile(new URL(`./tls/test-only-${name}.pem`, import.meta.url), 'utf8');

// The server's and the client's certificate are signed by the authority; the impostor's by another one.
const [authority, certificate, privateKey] = await Promise.all([pem('authority'), pem('server'), pem('server-key')]);
const tls = { certificate, privateKey };
const mutualTls = { ...tls, clientAuthority: authority };
const client = { certificate: await pem('client'), privateKey: await pem('client-key') };
const impostor = { certificate: await pem('impostor'), privateKey: await pem('impostor-key') };
const briefly = { reconnectTimeoutMs: 500 };

describe('plain text', () => {
  it.each([
    ['TLS', {}],
    ['TLS', { apiKey: 'secret' }],
    ['a key or client certificates', { tls }],
  ])('is rejected beyond loopback: it requires %s', async (missing, options) => {
    const serving = serveRuntime({ engine: new GatedEngine('never-written'), host: '0.0.0.0', ...options });
    await expect(serving).rejects.toMatchObject({ code: 'CONFIG' });
    await expect(serving).rejects.toThrow(missing);
  });

  it.each([
    ['this machine', {}],
    ['all', { host: '0.0.0.0', tls }],
  ])('is not guarded by an empty key, for %s', async (_, options) => {
    const serving = serveRuntime({ engine: new GatedEngine('never-written'), apiKey: '', ...options });
    await expect(serving).rejects.toMatchObject({ code: 'CONFIG', message: expect.stringMatching(/key .* is empty/) });
  });

  it.each([{}, { apiKey: 'secret' }])('is not sent over a network, with a key or without', async (options) => {
    const connecting = connectRuntime({ address: '192.0.2.1:50051', tls: false, ...options });
    await expect(connecting).rejects.toMatchObject({ code: 'CONFIG' });
    await expect(connecting).rejects.toThrow('without TLS');
  });

  it('is rejected by a TLS server', async () => {
    const { server } = await serveGatedRuntime({ tls });
    const connecting = connectRuntime({ address: server.address, ...briefly });
    await expect(connecting).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
  });
});

describe('TLS', () => {
  it('is trusted only with the certificate of the authority, also beyond loopback', async () => {
    const { server, connect } = await serveGatedRuntime({ host: '0.0.0.0', apiKey: 'secret', tls });
    const options = { address: `localhost:${server.port}`, apiKey: 'secret' };
    const runtime = await connect({ ...options, rootCertificates: authority });
    expect((await runtime.capabilities()).device).toBe('cpu');
    const untrusting = connectRuntime({ ...options, ...briefly, tls: true });
    await expect(untrusting).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
    await expect(untrusting).rejects.toThrow('certificate');
    const keyless = connectRuntime({ address: options.address, rootCertificates: authority });
    await expect(keyless).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('verifies the name in the certificate, or `serverName`', async () => {
    const { server, connect } = await serveGatedRuntime({ tls });
    const options = { address: server.address, rootCertificates: authority };
    await expect(connectRuntime({ ...options, ...briefly })).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
    const runtime = await connect({ ...options, serverName: 'localhost' });
    expect((await runtime.capabilities()).device).toBe('cpu');
  });

  it('admits only clients with a certificate of the authority, when it is mutual', async () => {
    const { server, connect } = await serveGatedRuntime({ host: '0.0.0.0', tls: mutualTls });
    const options = { address: `localhost:${server.port}`, rootCertificates: authority };
    const runtime = await connect({ ...options, clientCertificate: client });
    const model = await runtime.createModel({ baseModel: 'bag', modelId: 'model', seed: 1 });
    expect(await model.state()).toMatchObject({ step: 0 });
    for (const wrong of [{}, { clientCertificate: impostor }]) {
      const connecting = connectRuntime({ ...options, ...briefly, ...wrong });
      await expect(connecting).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
    }
  });

  it('requires the key as well when one is set', async () => {
    const { server, connect } = await serveGatedRuntime({ apiKey: 'secret', tls: mutualTls });
    const options = { address: `localhost:${server.port}`, rootCertificates: authority, clientCertificate: client };
    await expect(connectRuntime({ ...options, apiKey: 'guess' })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    await connect({ ...options, apiKey: 'secret' });
  });

  it('rejects a certificate and key that do not match', async () => {
    const mixed = { certificate, privateKey: client.privateKey };
    const serving = serveRuntime({ engine: new GatedEngine('never-written'), tls: mixed });
    await expect(serving).rejects.toMatchObject({ code: 'CONFIG' });
  });
});

describe('plain text on loopback', () => {
  const check = async (authority: string, origin?: string): Promise<number> => {
    const { server } = await serveGatedRuntime({});
    const client = new Client(server.address, ChannelCredentials.createInsecure(), {
      'grpc.default_authority': authority,
    });
    onTestFinished(() => client.close());
    const metadata = new Metadata();
    if (origin !== undefined) metadata.set('origin', origin);
    const bytes = (message: Buffer): Buffer => message;
    return await new Promise((resolve) => {
      client.makeUnaryRequest('/grpc.health.v1.Health/Check', bytes, bytes, Buffer.alloc(0), metadata, (error) =>
        resolve(error?.code ?? status.OK),
      );
    });
  };

  it('rejects calls to another host name, and those of web pages of another origin', async () => {
    expect(await check('rebound.example:50051')).toBe(status.UNAUTHENTICATED);
    expect(await check('localhost', 'https://attacker.example')).toBe(status.UNAUTHENTICATED);
    expect(await check('localhost:50051', 'http://localhost:5173')).toBe(status.OK);
  });
});

describe('a key', () => {
  it('is required by every service except health', async () => {
    const { server } = await serveGatedRuntime({ apiKey: 'secret' });
    const raw = openRawClient(server.address);
    for (const call of [
      raw.runtime.getCapabilities({}),
      raw.training.getModel({ modelId: 'model' }),
      raw.inference.getEndpoint({ modelId: 'model' }),
    ]) {
      expect(await refusalOf(call)).toMatchObject({ code: 'UNAUTHENTICATED' });
    }
    await raw.health.check({});
    raw.close();
  });
});
