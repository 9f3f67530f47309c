import type { FeedService } from 'nestjs-redis-patterns';

export interface Activity {
  kind: string;
  commentId: number;
}

export declare const feeds: FeedService;
export declare const userId: string;
export declare const commentId: number;
export declare const followers: string[];
export declare const post: Activity;
