import { programData, tellParent } from '../../support/parent.js';
import { startTopology, type Mode } from '../../../scripts/servers/index.mjs';

// Starts servers, says which, and waits to be killed.
const { mode, tie } = programData<{ mode: Mode; tie: 'pdeathsig' | 'pipe' }>();
const topology = await startTopology(mode, { tie });
const pids = [...topology.nodes, ...topology.sentinels].map((node) => node.pid);
await tellParent({ type: 'started', pids });
