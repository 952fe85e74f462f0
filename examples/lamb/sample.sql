-- A small LAMB: an organisation, two users, two assistants and a rubric. The tables are LAMB's.

CREATE TABLE LAMB_organizations (
    id INTEGER PRIMARY KEY AUTOINCREMENT, slug TEXT UNIQUE NOT NULL, name TEXT NOT NULL,
    is_system BOOLEAN DEFAULT FALSE, status TEXT DEFAULT 'active', config JSON NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE LAMB_organization_roles (
    id INTEGER PRIMARY KEY AUTOINCREMENT, organization_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL, role TEXT NOT NULL, created_at INTEGER, updated_at INTEGER,
    UNIQUE (organization_id, user_id));
CREATE TABLE LAMB_Creator_users (
    id INTEGER PRIMARY KEY AUTOINCREMENT, organization_id INTEGER, user_email TEXT NOT NULL UNIQUE,
    user_name TEXT NOT NULL, user_type TEXT NOT NULL DEFAULT 'creator', user_config JSON,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, enabled BOOLEAN NOT NULL DEFAULT 1,
    password_hash TEXT);
CREATE TABLE LAMB_assistants (
    id INTEGER PRIMARY KEY AUTOINCREMENT, organization_id INTEGER NOT NULL, name TEXT NOT NULL,
    description TEXT, owner TEXT NOT NULL, api_callback TEXT, system_prompt TEXT,
    prompt_template TEXT, RAG_endpoint TEXT, RAG_Top_k INTEGER, RAG_collections TEXT,
    pre_retrieval_endpoint TEXT, post_retrieval_endpoint TEXT, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, UNIQUE (organization_id, name, owner));
CREATE TABLE LAMB_assistant_publish (
    assistant_id INTEGER PRIMARY KEY, assistant_name TEXT NOT NULL, assistant_owner TEXT NOT NULL,
    group_id TEXT NOT NULL, group_name TEXT NOT NULL, oauth_consumer_name TEXT UNIQUE,
    created_at INTEGER NOT NULL);
CREATE TABLE LAMB_assistant_shares (
    id INTEGER PRIMARY KEY AUTOINCREMENT, assistant_id INTEGER NOT NULL,
    shared_with_user_id INTEGER NOT NULL, shared_by_user_id INTEGER, shared_at INTEGER);
CREATE TABLE LAMB_rubrics (
    id INTEGER PRIMARY KEY AUTOINCREMENT, rubric_id TEXT UNIQUE NOT NULL,
    organization_id INTEGER NOT NULL, owner_email TEXT NOT NULL, title TEXT NOT NULL,
    description TEXT, rubric_data JSON NOT NULL, is_public BOOLEAN DEFAULT FALSE,
    is_showcase BOOLEAN DEFAULT FALSE, parent_rubric_id TEXT, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL);
CREATE TABLE LAMB_kb_registry (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kb_id TEXT NOT NULL UNIQUE, kb_name TEXT NOT NULL,
    owner_user_id INTEGER NOT NULL, organization_id INTEGER NOT NULL,
    is_shared BOOLEAN DEFAULT FALSE, metadata JSON, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL);

INSERT INTO LAMB_organizations (id, slug, name, is_system, config, created_at, updated_at)
VALUES (1, 'weavers', 'School of Weaving', 1, '{}', 1790000000, 1790000000);
INSERT INTO LAMB_Creator_users (id, organization_id, user_email, user_name, created_at, updated_at)
VALUES (1, 1, 'ana@example.org', 'Ana', 1790000000, 1790000000);
INSERT INTO LAMB_Creator_users (id, organization_id, user_email, user_name, created_at, updated_at)
VALUES (2, 1, 'bo@example.org', 'Bo', 1790000000, 1790000000);
INSERT INTO LAMB_organization_roles (organization_id, user_id, role, created_at, updated_at)
VALUES (1, 1, 'admin', 1790000000, 1790000000);
INSERT INTO LAMB_organization_roles (organization_id, user_id, role, created_at, updated_at)
VALUES (1, 2, 'member', 1790000000, 1790000000);
INSERT INTO LAMB_assistants (id, organization_id, name, description, owner, api_callback, system_prompt, prompt_template, RAG_Top_k, RAG_collections, created_at, updated_at)
VALUES (1, 1, '1_tutor', 'Answers questions of beginners.', 'ana@example.org', '{"prompt_processor": "simple_augment", "connector": "bypass", "llm": "full-conversation-bypass", "rag_processor": "no_rag", "file_path": "", "capabilities": {"vision": false, "image_generation": false}}', 'Answer as a weaver.', 'Question of a beginner: {user_input}', 3, '', 1790000000, 1790000000);
INSERT INTO LAMB_assistants (id, organization_id, name, description, owner, api_callback, system_prompt, prompt_template, RAG_Top_k, RAG_collections, created_at, updated_at)
VALUES (2, 1, '2_grader', 'Grades cloth.', 'bo@example.org', '{"prompt_processor": "simple_augment", "connector": "bypass", "llm": "full-conversation-bypass", "rag_processor": "rubric_rag", "file_path": "", "capabilities": {"vision": false, "image_generation": false}, "rubric_id": "rubric-cloth"}', 'Grade with the rubric.', '{context}

Cloth: {user_input}', 3, '', 1790000000, 1790000000);
INSERT INTO LAMB_assistant_publish (assistant_id, assistant_name, assistant_owner, group_id, group_name, oauth_consumer_name, created_at)
VALUES (1, '1_tutor', 'ana@example.org', '1', 'weaving', 'weaving', 1790000000);
INSERT INTO LAMB_rubrics (id, rubric_id, organization_id, owner_email, title, description, rubric_data, created_at, updated_at)
VALUES (1, 'rubric-cloth', 1, 'bo@example.org', 'Cloth', 'How cloth is graded.', '{"rubricId": "rubric-cloth", "title": "Cloth", "description": "How cloth is graded.", "metadata": {"createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z"}, "criteria": [{"id": "warp", "name": "Warp", "description": "The warp holds under tension.", "weight": 100, "levels": [{"id": "good", "score": 2, "label": "Good", "description": "Even."}, {"id": "poor", "score": 1, "label": "Poor", "description": "Slack."}]}], "scoringType": "points", "maxScore": 10}', 1790000000, 1790000000);
