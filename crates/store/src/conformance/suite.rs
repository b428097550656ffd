//! List of the clauses, by subject, and the tests that are made of it.

/// A test for each clause, in a module for each subject.
#[macro_export]
macro_rules! suite {
    ($fresh:path) => {
        $crate::suite! { @subjects $fresh;
            tenants {
                the_first_tenant_is_made_once,
                servers_that_start_at_once_make_one_first_tenant,
                another_organization_has_a_name_of_its_own,
                an_organization_gets_other_recipients,
                a_key_names_its_caller,
                keys_are_listed_changed_and_removed_in_their_organization,
                a_key_before_its_rotation_names_the_caller_until_it_ends,
            }
            people {
                a_link_is_used_once_and_makes_a_login,
                mail_of_an_organization_follows_the_owner_whom_it_was_made_with,
                a_provider_lets_a_person_in_without_a_link_and_is_told_from_others,
                a_session_names_its_caller_with_the_role_of_now,
                an_owner_who_can_sign_in_stays,
                a_right_is_within_the_role_that_its_maker_has_now,
                a_session_begins_with_the_password_of_now,
                what_sets_a_password_ends_where_its_person_joins_another_organization,
            }
            accounts {
                an_app_is_registered_once_and_replaced,
                an_account_changes_one_version_at_a_time,
                accounts_are_listed_by_app,
                a_connection_is_answered_once_in_its_time,
            }
            data_stores {
                a_store_is_made_renamed_and_removed,
                an_organization_has_no_more_stores_than_it_may,
                stores_are_listed,
                a_value_is_written_read_and_removed,
                any_key_is_kept,
                what_has_ended_is_not_there,
                what_has_ended_is_cleared_away,
                a_full_store_refuses_what_would_be_more,
                entries_come_in_pages,
                writes_at_once_are_counted,
            }
            deliveries {
                deliveries_come_with_the_settlement_or_not_at_all,
                a_run_s_deliveries_are_first_tried_in_order,
                claims_at_once_share_the_deliveries,
                organizations_take_turns_in_deliveries_up_to_their_share,
                deliveries_go_with_their_run,
                a_mail_is_queued_once,
            }
            registries {
                a_registry_is_replaced_by_name,
                a_key_is_found_in_the_oldest_registry,
                an_update_keeps_what_it_could_not_index_and_why_it_failed,
                what_was_deployed_from_a_registry_is_found,
                earlier_versions_stay_with_the_files_that_they_had,
            }
            stored_files {
                files_take_the_place_of_those_at_their_paths_all_or_none,
                stores_and_files_are_listed_in_order_and_removed,
                a_path_is_a_file_or_a_folder,
                a_store_holds_no_more_than_it_may,
            }
            forms {
                a_form_is_told_anew_and_is_its_organizations,
                forms_go_at_their_end_and_where_there_are_too_many,
            }
            uploads {
                a_file_comes_back_in_its_parts_until_its_time_is_over,
                files_of_a_refused_request_end_at_once,
                what_comes_after_a_file_went_is_refused,
                the_first_data_key_is_made_once,
                data_keys_are_wrapped_anew_all_or_none,
                the_first_organization_stays_the_first,
            }
            components {
                an_artifact_is_stored_once_and_never_changed,
                a_component_comes_back_as_it_was_given,
                publishing_moves_the_mark,
                publishing_one_key_at_once_leaves_one_mark,
                unpublishing_takes_the_mark,
                a_saved_component_has_its_key_until_that_is_taken_away,
                a_page_and_its_count_are_of_one_moment,
                published_components_are_listed,
                the_same_code_is_found_by_its_hash,
                earlier_published_versions_stay_addressable,
            }
            sources {
                a_source_comes_back_with_its_interfaces,
                a_taken_slug_is_refused_and_leaves_nothing,
                one_source_is_made_from_a_file,
                an_update_replaces_record_and_interfaces,
                an_update_of_none_changes_nothing,
                deleting_leaves_nothing_but_history,
                another_organization_cannot_delete,
                slugs_of_a_base_are_that_and_its_numbers,
                a_new_source_remembers_nothing,
                what_a_source_remembers_is_versioned,
                any_key_of_the_db_is_kept,
            }
            interfaces {
                an_endpoint_is_found_by_its_key,
                an_endpoints_key_is_unique,
                due_timers_are_active_and_longest_due_first,
                a_tick_fires_once,
                a_tick_fires_once_however_many_servers_see_it,
                a_tick_never_overlaps_an_unfinished_run,
                a_timer_that_is_gone_or_inactive_is_skipped,
                hooks_of_apps_are_found_by_event,
                a_domain_stands_for_an_endpoint_and_goes_with_its_owner,
            }
            workflows {
                a_workflow_comes_back_as_it_was_given,
                a_taken_slug_is_refused,
                one_workflow_is_made_from_a_folder,
                an_update_keeps_interfaces_unless_they_are_given,
                a_draft_counts_its_changes_and_a_workflow_is_replaced_only_as_it_was_read,
                deployments_count_up,
                runs_are_counted_by_version,
                deployments_at_once_take_versions_of_their_own,
                a_deployment_replaces_interfaces_and_trigger_subscriptions,
                a_deployment_of_none_leaves_nothing,
                deployments_are_of_their_organization,
                deleting_leaves_nothing_but_history,
            }
            subscriptions {
                subscribing_again_gives_the_one_that_exists,
                a_source_deleted_meanwhile_keeps_no_subscription_that_a_later_look_leaves,
                unsubscribing_says_whether_there_was_one,
                subscriptions_are_of_their_organization,
                listeners_are_distinct_and_active,
                listeners_are_of_the_stream_and_the_organization,
                listeners_change_all_at_once_or_not_at_all,
            }
            runs {
                an_accepted_run_waits_in_the_queue,
                a_run_accepted_as_claimed_is_under_way,
                a_run_is_accepted_once,
                claims_take_the_oldest,
                owners_take_turns,
                claims_at_once_share_the_queue,
                a_lease_that_ran_out_is_claimed_again,
                a_renewed_lease_holds,
                renewing_tells_what_is_no_longer_held,
                a_released_run_is_queued_again,
                running_runs_are_queued_again_at_start,
                running_runs_of_a_node_are_queued_again,
            }
            settle {
                a_run_leaves_everything_at_once,
                a_fenced_settlement_leaves_nothing,
                a_run_settles_once,
                a_run_that_was_not_stored_is_stored_as_it_ended,
                of_many_ends_at_once_each_has_its_own_result,
        settlements_at_once_settle_once,
                a_state_that_moved_on_leaves_nothing,
                a_clash_leaves_nothing,
                hooks_leave_effects_without_a_run,
                effects_on_a_state_that_moved_on_leave_nothing,
                a_run_that_outlives_its_source_leaves_no_state,
                texts_of_any_characters_are_kept,
            }
            webhooks {
                a_webhook_comes_back_as_it_was_given,
                a_webhook_listens_until_it_is_deleted,
                an_event_is_queued_once_for_a_webhook,
                due_webhooks_are_active_awake_and_longest_due_first,
                organizations_take_turns_in_due_webhooks,
                a_claimed_delivery_is_hidden_until_it_is_tried_again,
                what_became_of_a_delivery_is_recorded,
                what_a_late_try_says_of_a_delivery_that_is_over_counts_only_if_it_was_taken,
                dead_letters_are_replayed,
                what_is_over_is_given_up_and_what_is_old_goes,
                auto_subscriptions_hold_for_what_is_made_later,
            }
            webhook_attempts {
                the_last_attempts_of_a_delivery_are_kept_and_outlast_a_replay,
            }
            pauses {
                a_paused_run_waits_and_is_not_claimed,
                only_the_attempt_that_holds_a_run_pauses_it,
                a_request_after_the_time_of_a_pause_comes_too_late,
                a_pause_ends_when_its_time_comes,
                a_pause_ends_once_however_many_servers_see_it,
                a_pause_that_nobody_ends_in_time_cancels,
                a_request_ends_a_pause_once,
                a_request_cancels_a_paused_run,
                a_request_before_the_pause_is_kept,
                a_request_is_never_lost_while_an_attempt_ends,
                a_request_for_an_attempt_without_a_pause_means_nothing,
                what_waits_can_be_cancelled,
                paused_runs_go_with_their_workflow,
                a_pause_outlives_the_server,
                logs_of_attempts_follow_each_other,
                progress_is_kept_for_the_next_attempt,
                a_run_may_begin_behind_steps,
            }
            limits {
                no_more_runs_at_once_than_a_workflow_may_have,
                what_is_left_of_a_share_goes_to_others,
                limits_hold_however_many_servers_claim,
                runs_of_a_source_that_run_in_order_never_overtake_each_other,
                so_many_runs_start_in_each_interval,
                a_deployment_replaces_limits,
                a_full_queue_refuses,
                a_queue_is_counted_however_its_runs_come_and_go,
            }
            mail {
                a_claimed_mail_is_hidden_until_it_is_tried_again,
                claims_at_once_share_the_outbox,
                organizations_take_turns_in_the_outbox,
                each_mail_is_of_the_organization_after_the_one_before,
                what_became_of_a_mail_is_recorded,
                mails_are_listed_for_their_organization,
                one_notice_for_a_class_and_owner,
                the_window_of_notices_has_an_exact_edge,
                the_window_of_notices_outlives_the_server,
                a_notice_tells_how_many_errors_there_were,
                an_error_of_an_ignored_group_is_not_mailed,
                an_owner_gets_notices_of_a_bounded_number_of_classes,
                an_outbox_holds_a_bounded_number_of_bytes,
            }
            replays {
                a_replay_takes_each_step_once,
                a_replay_that_is_held_is_not_running,
                what_became_of_replayed_runs_is_told,
                a_run_that_was_replayed_by_itself_is_mended_too,
            }
            errors {
                a_failed_run_counts_in_its_group,
                a_resolved_group_regresses_with_a_run_accepted_after_that,
                groups_are_listed_by_state_class_and_when_they_were_seen,
                a_group_keeps_its_newest_changes_until_it_is_pruned,
                a_group_knows_the_deployments_that_it_was_seen_in,
                failed_runs_tell_when_each_group_was_seen,
                failed_runs_fit_class_group_and_time,
                what_keeps_no_data_leaves_none,
            }
            search {
                runs_are_found_by_words_of_their_texts,
                pages_of_a_search_follow_each_other,
                what_goes_or_is_forgotten_is_found_no_more,
                what_was_there_before_the_index_and_what_comes_late_is_taken_in,
            }
            shared_events {
                a_large_event_of_several_runs_is_read_whole_with_each,
                a_run_that_keeps_nothing_leaves_a_shared_event_to_the_others,
            }
            retention {
                the_newest_runs_and_events_stay,
                age_and_number_both_count,
                what_waits_stays_and_is_counted,
                logs_without_a_run_go_by_age,
                owners_are_found_one_after_the_other,
                how_much_is_kept_is_set_for_an_owner_and_goes_with_it,
                mail_and_records_go_by_age_and_tokens_by_their_end,
            }
            exports {
                history_is_handed_over_owner_by_owner,
                an_export_is_of_its_organization_owner_and_time,
                an_export_is_of_one_moment,
                an_export_that_nobody_takes_ends,
            }
            audit {
                records_are_listed_for_their_organization,
                records_are_chosen_by_user_target_and_time,
                a_record_is_kept_before_the_change_and_completed_after_it,
            }
            oauth_clients {
                a_client_comes_back_as_it_was_given,
                a_token_names_its_caller_until_its_client_goes,
            }
            clock {
                late_timers_are_moved_and_nothing_fires,
                what_waits_is_moved_with_the_clock,
                tries_of_deliveries_are_moved_with_the_clock,
                a_notice_of_a_clock_that_was_wrong_holds_up_none,
            }
            names {
                records_are_read_by_kind_the_last_changed_first,
                what_names_an_id_in_its_props_is_found,
                preferences_are_kept_for_a_person_and_organization,
                slugs_of_a_base_are_that_and_its_numbers,
            }
            run_lists {
                runs_of_all_owners_are_listed_by_what_is_asked,
                runs_that_fit_are_read_oldest_first_and_counted,
                light_records_of_runs_leave_out_what_is_large,
                a_run_has_one_duration_in_lists_searches_and_statistics,
            }
            history {
                a_run_is_of_its_organization,
                runs_are_listed_by_owner_and_filter,
                states_of_runs_are_the_newest_from_a_time_on,
                runs_that_ended_are_read_for_statistics,
                logs_come_in_order,
                logs_are_read_backwards_by_level_text_and_step,
                events_are_the_newest_hundred_of_a_stream,
                pages_are_read_where_they_have_room,
                events_are_paged_by_their_ids,
                events_after_one_resume_a_stream,
                events_are_deleted_in_an_inclusive_range,
                a_deferred_event_waits_until_it_is_due_and_is_delivered_once,
                pruning_removes_what_is_old_and_settled,
                pruning_goes_in_steps,
            }
            many {
                many_events_are_removed_and_counted,
                a_large_data_store_is_cleared_and_removed,
                many_dead_letters_are_replayed,
                an_owner_goes_with_the_many_runs_that_wait,
            }
            listing {
                sources_are_paged,
                a_cursor_that_is_gone_or_another_s_names_nothing,
                workflows_are_paged,
                components_are_paged,
                deployments_are_paged,
                runs_are_paged,
                runs_of_all_owners_are_paged,
                mails_are_paged,
            }
            lifecycle {
                a_store_that_is_open_answers,
                a_closed_store_says_so,
                what_was_acknowledged_is_there_after_reopening,
            }
        }
    };
    (@subjects $fresh:path; $($subject:ident { $($clause:ident,)* })*) => {$(
        mod $subject {
            $(
                #[tokio::test]
                async fn $clause() {
                    if let Some(database) = $fresh().await {
                        $crate::conformance::$subject::$clause(&database).await;
                    }
                }
            )*
        }
    )*};
}
