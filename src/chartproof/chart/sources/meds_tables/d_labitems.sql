select itemid, label from items where "table" = 'labevents'
