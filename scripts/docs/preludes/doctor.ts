export declare const signal: AbortSignal;
