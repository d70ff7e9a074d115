// Uploads a batch by a thread, and closes nothing.
import { UploadThread } from '../../src/client/upload-thread.ts';
import { sessionAndModel } from './session-and-model.ts';

const [address = ''] = process.argv.slice(2);
const { client, upload } = await sessionAndModel(address);
const settings = { address, apiKey: undefined, tls: null, options: { 'grpc.keepalive_time_ms': 1_000 } };
const answer = await new UploadThread(settings).upload(upload);
client.close();
process.stdout.write(String(answer?.operation?.seq));
