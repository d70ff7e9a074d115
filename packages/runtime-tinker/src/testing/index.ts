export {
  type FakeTinkerOptions,
  type FakeTinkerServer,
  type Fault,
  startFakeTinkerServer,
} from './fake-tinker-server.ts';
export { writeTinyModelFolder } from './tiny-model-folder.ts';
